// Resources that nodes use, and that graphs and executable graphs keep alive: owners and closures.
#pragma once

#include <cushim/detail/node_uses.hpp>
#include <cushim/graph_node.hpp>

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/call.hpp"
#include "base/release_later.hpp"
#include "base/state.hpp"
#include "captures.hpp"
#include "context/stream_state.hpp"
#include "relatives.hpp"

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
    explicit NewUses(const NodeUses &uses) noexcept
        : states(uses.states), closure(uses.closure != nullptr ? *uses.closure : Closure()) {}

    bool empty() const noexcept;

    const std::span<State *const> states; // some may be null
    OwnedClosure closure;
};

/* What the nodes of a graph have used. Graphs, their clones, graphs that contain them and
 * executable graphs share it. It grows only while one graph uses it alone. */
struct KeptSet {
    KeptSet() = default;
    KeptSet(const KeptSet &) = delete;
    KeptSet &operator=(const KeptSet &) = delete;
    ~KeptSet();

    std::unordered_map<State *, KeepAlive> resources; // empty until kept
    std::vector<OwnedClosure> closures;
    std::shared_ptr<KeptSet> before;                // of the same graph, until it was shared
    std::vector<std::shared_ptr<KeptSet>> children; // of graphs inside
};

/* Resources that an executable graph used. Destroyed on a thread that may call CUDA, and not before
 * both ends are reached. */
struct KeptUses final : Released {
    ~KeptUses() override {
        while (also) { // avoids recursion
            also = std::move(also->also);
        }
    }
    bool is_ready() noexcept override { return after.is_reached() && after_too.is_reached(); }
    bool is_lost() const noexcept override { return after.is_lost() || after_too.is_lost(); }

    std::vector<KeepAlive> resources;
    OwnedClosure closure;
    std::shared_ptr<KeptSet> set; // of a whole graph
    StreamEnd after, after_too;
    std::unique_ptr<KeptUses> also; // further resources of the same node
};

// Whether CUDA may have carried out a call that failed. Rejected calls change nothing; other
// statuses may be those of earlier work.
bool may_be_done(const Error &error) noexcept;

// Fails if the cushim thread cannot be started.
Result<void> require_release_thread() noexcept;

// Null if there is nothing to keep alive.
Result<std::unique_ptr<KeptUses>> keep_uses(NewUses &&uses) noexcept;
Result<std::unique_ptr<KeptUses>> keep_uses(std::shared_ptr<KeptSet> set) noexcept;

// The closure becomes a resource of a graph that is being captured. No Graph has it yet.
Result<void> keep_in_capture(const CaptureInProgress &capture, OwnedClosure &&closure) noexcept;

/* Resources of the nodes of one graph and of the graphs inside it. A resource that a node has ever
 * used lives as long as the graph, its clones and its executable graphs; one that several nodes use
 * is usually kept once.
 *
 * The graph holds a CUDA user object that owns the set as well, since other code may clone and
 * instantiate the graph, or take it over. It is created on first use. Executable graphs with a user
 * object are expensive to launch, so cushim's own calls that copy the graph are made by copied().
 */
class KeptResources {
  public:
    // What the user object owns.
    struct Held final : Released {
        ~Held() override;

        std::shared_ptr<KeptSet> set;
        // While the graph is being captured:
        unsigned long long capture = 0;
        CUuserObject object = nullptr; // cushim holds no reference
        Held *next_captured = nullptr;
    };

    // `of` is the handle of the graph, which may be created later; `number` is its GraphState::id.
    KeptResources(const CUgraph &of, unsigned long long number, unsigned int made_in) noexcept
        : graph_(of), number_(number), generation_(made_in) {}
    KeptResources(const KeptResources &) = delete;
    KeptResources &operator=(const KeptResources &) = delete;
    // The graph was destroyed, or lives on with other code.
    ~KeptResources() {
        if (object_ != nullptr) {
            release();
        }
    }

    // Whether all of these are kept already, as for most nodes; may return false although they are.
    bool keeps(const NewUses &uses) const noexcept {
        for (const State *const state : uses.states) {
            if (state != nullptr && state->kept_by.load(std::memory_order_relaxed) != number_) {
                return false;
            }
        }
        return !uses.closure;
    }
    // Reserves room, so that nothing can fail once the node exists.
    Result<void> prepare(const NewUses &uses) noexcept;
    void keep(NewUses &&uses) noexcept;
    // The same for all resources of another graph. Null: it has none.
    Result<void> prepare(const std::shared_ptr<KeptSet> &set) noexcept;
    void keep(std::shared_ptr<KeptSet> set) noexcept;

    // The graph of a capture that has ended: takes over what it kept.
    Result<void> take_over(unsigned long long capture) noexcept;

    // Whether the graph may keep something; a copy of it is then made by copied().
    bool any() const noexcept { return held_ != nullptr; }

    // All resources so far, for a copy of the graph; null without resources. Later ones go into
    // another set.
    std::shared_ptr<KeptSet> share() const noexcept {
        return held_ != nullptr ? held_->set : nullptr;
    }

    // Calls `copy`, which copies the graph: while the graph does not hold the user object, unless
    // CUDA is to keep the resources for the copy as well.
    template <class Copy>
    auto copied(const Copy &copy, bool is_kept_by_cuda) noexcept -> decltype(copy()) {
        std::optional<RelativesGuard> guard;
        if (graph_holds_ && !is_kept_by_cuda) {
            guard.emplace();
            CUSHIM_TRY_VOID(take());
        }
        auto done = copy();
        if (guard) {
            give_back();
        }
        return done;
    }

  private:
    void release() noexcept;
    Result<void> create();
    Result<KeptSet *> own_set();
    Result<void> take() noexcept;
    void give_back() noexcept;
    Result<void> retain() const noexcept;

    const CUgraph &graph_;
    const unsigned long long number_;
    Held *held_ = nullptr;          // owned by the user object
    CUuserObject object_ = nullptr; // cushim holds one reference
    bool graph_holds_ = false;      // exactly one further reference
    bool is_kept_for_good_ = false; // the graph may hold none, but should
    const unsigned int generation_;
};

} // namespace cushim::detail
