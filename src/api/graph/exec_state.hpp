// The state behind GraphExec.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api.hpp"
#include "context/in_context.hpp"
#include "destroy_by.hpp"
#include "identity.hpp"
#include "kept_resources.hpp"
#include "launches.hpp"

namespace cushim::detail {

// A node of the instantiated graph, or of a graph nested in it.
struct ExecNode {
    CUgraphNode native;
    const GraphIdentity &identity; // identifies the node's graph
    const GraphIdentity &root;     // identity of the instantiated graph
};

/* What an executable graph uses: the resources of the graph that it was instantiated or updated
 * from, and those of nodes that were set in it. They are released after the last launch, once
 * others replace them or the executable graph is destroyed. */
class ExecUses {
  public:
    ExecUses() noexcept = default;
    ExecUses(const ExecUses &) = delete;
    ExecUses &operator=(const ExecUses &) = delete;
    // Resources that end() did not release stay alive: the executable graph still exists and may
    // use them.
    ~ExecUses();

    // All nodes are those of a graph with these resources; null if it has none.
    void keep(std::unique_ptr<KeptUses> of_graph) noexcept;
    // Updating failed, and nodes may use either the new or the old resources.
    void keep_also(std::unique_ptr<KeptUses> of_graph) noexcept;

    // Reserves room, so that nothing can fail once the node is set.
    Result<void> prepare(const ExecNode &node) noexcept;
    void keep(CUgraphNode node, std::unique_ptr<KeptUses> kept) noexcept;
    // CUDA did not set the node.
    void unprepare(CUgraphNode node) noexcept;
    // Setting failed, and the node may use either the new or the old resources.
    void keep_also(CUgraphNode node, std::unique_ptr<KeptUses> kept) noexcept;

    // All nodes nested in this one are those of a graph again.
    void end_inside(CUgraphNode node) noexcept;

    // After each launch.
    void launched(const Stream &stream) noexcept {
        if (of_graph_ != nullptr || !by_node_.empty()) {
            launches_.note(stream);
        }
    }

    // The same after a launch that CUDA may have rejected.
    void maybe_launched(const Stream &stream) noexcept {
        if (of_graph_ != nullptr || !by_node_.empty()) {
            launches_.note_doubtful(stream);
        }
    }

    // The executable graph is destroyed.
    void end() noexcept { keep(nullptr); }

  private:
    struct Place {
        bool is_inside(CUgraphNode node) const noexcept {
            return std::find(path.begin(), path.end(), node) != path.end();
        }

        std::vector<CUgraphNode> path; // GraphIdentity::path_to(): those nodes may be destroyed
        std::unique_ptr<KeptUses> kept;
    };

    void let_go(std::unique_ptr<KeptUses> kept) noexcept;

    std::unique_ptr<KeptUses> of_graph_;
    std::unordered_map<CUgraphNode, Place> by_node_;
    // For each node of the paths, the nodes that have had it in their path.
    std::unordered_map<CUgraphNode, std::unordered_set<CUgraphNode>> inside_;
    Launches launches_;
};

struct GraphExecState final : InContext {
    GraphExecState(const Context &in, const GraphApi &of) noexcept : InContext(in), api(of) {}
    // Of a graph.
    GraphExecState(const InContext &graph, const std::shared_ptr<GraphIdentity> &from) noexcept
        : InContext(graph, InCapture::unsafe), api(from->api), identity(from) {}
    // An executable graph of a reset context never runs again and is not destroyed either: driver
    // 580 does not return from that call.
    ~GraphExecState() override {
        if (uses && is_gone()) {
            uses->end();
        }
    }

    Destroyed destroy() noexcept override {
        const Destroyed destroyed = destroy_by(
            *this, api, [this](const GraphApi &by) noexcept { return by.exec.destroy(exec); });
        if (uses) {
            uses->end();
        }
        return destroyed;
    }

    const GraphApi &api;
    const std::shared_ptr<GraphIdentity> identity; // of the instantiated graph; null: unknown
    CUgraphExec exec = nullptr;
    // Null until it keeps something alive: make_uses().
    std::unique_ptr<ExecUses> uses;
    // Whether CUDA keeps the nodes' resources alive: launches may go unnoticed.
    bool is_kept_by_cuda = false;

    Result<void> make_uses() noexcept {
        if (!uses) {
            uses.reset(new (std::nothrow) ExecUses);
        }
        return uses ? Result<void>() : no_host_memory();
    }
};

} // namespace cushim::detail
