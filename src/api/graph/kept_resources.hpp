// What nodes use and graphs keep: owners and closures, handed to CUDA as a user object, whose
// references it copies and drops with the graphs and executable graphs that may run them.
#pragma once

#include <cushim/event.hpp>
#include <cushim/graph_node.hpp>

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api.hpp"
#include "base/release_later.hpp"

namespace cushim::detail {

// A closure on its way to who keeps it: destroyed unless it is taken.
class OwnedClosure {
  public:
    OwnedClosure() noexcept = default;
    explicit OwnedClosure(const Closure &closure) noexcept : closure_(closure) {}
    OwnedClosure(OwnedClosure &&other) noexcept : closure_(other.closure_) { other.closure_ = {}; }
    OwnedClosure &operator=(OwnedClosure &&other) noexcept {
        const Closure old = closure_;
        closure_ = other.closure_;
        other.closure_ = old;
        return *this;
    }
    ~OwnedClosure() {
        if (closure_.object != nullptr) {
            closure_.destroy(closure_.object);
        }
    }

    explicit operator bool() const noexcept { return closure_.object != nullptr; }
    void operator()() const noexcept { closure_.call(closure_.object); }

  private:
    Closure closure_;
};

// What somebody is about to use.
class NewUses {
  public:
    // Takes the closure over.
    explicit NewUses(const NodeUses &uses) noexcept : states(uses.states), closure(uses.closure) {}

    bool empty() const noexcept;

    const std::span<State *const> states; // some may be null
    OwnedClosure closure;
};

/* What one node, or one call, uses. Goes on a thread on which CUDA may be called, and not before
 * the work that `after` was recorded behind is through. */
struct KeptUses final : Released {
    ~KeptUses() override {
        while (also) { // not by recursion
            also = std::move(also->also);
        }
    }
    bool is_ready() noexcept override;

    std::vector<KeepAlive> resources;
    OwnedClosure closure;
    Event after;                    // empty: nothing to wait for
    std::unique_ptr<KeptUses> also; // of the same node
};

// Whether CUDA may have done what a call asked for although the call failed. Refusals change
// nothing; other statuses may be of earlier work.
bool may_be_done(const Error &error) noexcept;

// Fails where cushim's own thread cannot be started.
Result<void> require_release_thread() noexcept;

// Null where there is nothing to keep.
Result<std::unique_ptr<KeptUses>> keep_uses(NewUses &&uses) noexcept;

// Gives a graph that somebody else knows what one call uses, in a user object of its own.
Result<void> give_uses(const GraphApi &api, CUgraph graph, NewUses &&uses) noexcept;

/* What the nodes of one graph use: in one user object, made at the first need, that grows with the
 * graph. The graph's clones and executable graphs keep it, too, so what a node has ever used stays
 * until the last of them is gone; what many nodes use is kept once. */
class KeptResources {
  public:
    // Whether it surely keeps all of that by now, as for most nodes: false also where it may.
    bool has(const NewUses &uses) const noexcept {
        if (uses.closure) {
            return false;
        }
        for (const State *const state : uses.states) {
            if (state != nullptr && !is_recent(state)) {
                return false;
            }
        }
        return true;
    }
    // Has room for them, so that nothing can fail once the node is there.
    Result<void> prepare(const GraphApi &api, CUgraph graph, const NewUses &uses) noexcept;
    void keep(NewUses &&uses) noexcept;

  private:
    struct Kept final : Released {
        std::unordered_map<State *, KeepAlive> resources; // empty until it is kept
        std::vector<OwnedClosure> closures;
    };

    bool is_recent(const State *state) const noexcept {
        for (const State *const recent : recent_) {
            if (recent == state) {
                return true;
            }
        }
        return false;
    }

    Kept *kept_ = nullptr; // CUDA's, as long as the graph is there
    // Some that are kept: most nodes use what the ones before them used.
    std::array<const State *, 8> recent_{};
    unsigned int next_recent_ = 0;
};

} // namespace cushim::detail
