// The state behind GraphExec.
#pragma once

#include <cushim/event.hpp>
#include <cushim/stream.hpp>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api.hpp"
#include "context/in_context.hpp"
#include "identity.hpp"
#include "kept_resources.hpp"

namespace cushim::detail {

// A node of the graph that an executable graph is from, or of one inside it.
struct ExecNode {
    CUgraphNode native;
    const GraphIdentity &identity; // of its own graph
    const GraphIdentity &root;     // of the executable graph's
};

/* What nodes use that were set in the executable graph itself: CUDA has no place to keep that in.
 * What a node uses goes when something else is set there, or the executable graph is gone, and the
 * last launch is through. */
class ExecUses {
  public:
    ExecUses() noexcept = default;
    ExecUses(const ExecUses &) = delete;
    ExecUses &operator=(const ExecUses &) = delete;
    // What end() did not release is kept: the executable graph still exists and may use it.
    ~ExecUses();

    // Has room for it, so that nothing can fail once the node is set.
    Result<void> prepare(const Context &context, const ExecNode &node,
                         const KeptUses *kept) noexcept;
    void keep(CUgraphNode node, std::unique_ptr<KeptUses> kept) noexcept;
    // CUDA refused to set the node.
    void unprepare(CUgraphNode node) noexcept;
    // Setting failed, and the node may use either the new or the old resources.
    void keep_also(CUgraphNode node, std::unique_ptr<KeptUses> kept) noexcept;

    // All nodes inside this one are what a graph's are.
    void end_inside(CUgraphNode node) noexcept;

    // Whether launches have to be told.
    bool empty() const noexcept { return by_node_.empty(); }

    // After each launch.
    void launched(const Stream &stream) noexcept;

    // All nodes are what a graph's are, or the executable graph is gone.
    void end() noexcept;

  private:
    struct Place {
        bool is_inside(CUgraphNode node) const noexcept {
            return std::find(path.begin(), path.end(), node) != path.end();
        }

        std::vector<CUgraphNode> path; // GraphIdentity::path_to(): those may be gone
        std::unique_ptr<KeptUses> kept;
    };

    void let_go(std::unique_ptr<KeptUses> kept) noexcept;
    Result<void> record(const Stream &stream) noexcept;

    std::unordered_map<CUgraphNode, Place> by_node_;
    // By each node of the paths, those that once had it in theirs.
    std::unordered_map<CUgraphNode, std::unordered_set<CUgraphNode>> inside_;
    Event last_launch_;
    CUcontext launched_in_ = nullptr; // whose event that is
    bool was_launched_ = false;
    bool is_waited_for_ = false; // by what was let go: its event stays that of the launch before
    bool lost_a_launch_ = false; // the last one, and nobody knows when it ends
};

struct GraphExecState final : InContext {
    GraphExecState(const Context &in, const GraphApi &of,
                   std::shared_ptr<GraphIdentity> from) noexcept
        : InContext(in), api(of), identity(std::move(from)) {}
    // An executable graph whose context was reset never runs again, and is not destroyed either:
    // driver 580 does not return from that call.
    ~GraphExecState() override {
        if (is_gone()) {
            uses.end();
        }
    }

    Destroyed destroy() noexcept override {
        const Destroyed destroyed = destroy_exec();
        uses.end();
        return destroyed;
    }

    // As destroy_graph().
    Destroyed destroy_exec() const noexcept {
        const auto scope = ContextScope::enter(context);
        if (scope) {
            return api.exec.destroy(exec);
        }
        report_teardown(not_entered(scope.error(), context));
        return driver_graphs.exec.destroy(exec);
    }

    const GraphApi &api;
    const std::shared_ptr<GraphIdentity> identity; // of the graph that it is from; null: not known
    CUgraphExec exec = nullptr;
    ExecUses uses;
};

} // namespace cushim::detail
