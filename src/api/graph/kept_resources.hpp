// Resources that nodes use and graphs keep alive: owners and closures in a CUDA user object. CUDA
// copies and drops its references with the graphs and executable graphs that may run them.
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

// A closure on its way to its new owner: destroyed unless it is taken.
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

// Resources that a node is about to use.
class NewUses {
  public:
    // Takes ownership of the closure.
    explicit NewUses(const NodeUses &uses) noexcept : states(uses.states), closure(uses.closure) {}

    bool empty() const noexcept;

    const std::span<State *const> states; // some may be null
    OwnedClosure closure;
};

/* Resources of one node or one call. Destroyed on a thread that may call CUDA, and not before the
 * work that precedes `after` has completed. */
struct KeptUses final : Released {
    ~KeptUses() override {
        while (also) { // avoids recursion
            also = std::move(also->also);
        }
    }
    bool is_ready() noexcept override;

    std::vector<KeepAlive> resources;
    OwnedClosure closure;
    Event after;                    // empty: nothing to wait for
    std::unique_ptr<KeptUses> also; // further resources of the same node
};

// Whether CUDA may have carried out a call that failed. Rejected calls change nothing; other
// statuses may be those of earlier work.
bool may_be_done(const Error &error) noexcept;

// Fails if the cushim thread cannot be started.
Result<void> require_release_thread() noexcept;

// Null if there is nothing to keep alive.
Result<std::unique_ptr<KeptUses>> keep_uses(NewUses &&uses) noexcept;

// Passes the resources of one call to a graph that other code owns, in a separate user object.
Result<void> give_uses(const GraphApi &api, CUgraph graph, NewUses &&uses) noexcept;

/* Resources of the nodes of one graph, in one user object that is created on first use and grows
 * with the graph. Clones and executable graphs keep it too, so a resource that a node has ever used
 * lives until the last of them is destroyed. A resource that several nodes use is kept once. */
class KeptResources {
  public:
    // Whether all of these are kept already, as for most nodes; may return false although they are.
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
    // Reserves room, so that nothing can fail once the node exists.
    Result<void> prepare(const GraphApi &api, CUgraph graph, const NewUses &uses) noexcept;
    void keep(NewUses &&uses) noexcept;

  private:
    struct Kept final : Released {
        std::unordered_map<State *, KeepAlive> resources; // empty until kept
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

    Kept *kept_ = nullptr; // owned by CUDA while the graph exists
    // Some of the kept resources: most nodes use the same ones as the nodes before them.
    std::array<const State *, 8> recent_{};
    unsigned int next_recent_ = 0;
};

} // namespace cushim::detail
