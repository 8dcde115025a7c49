// The state behind GraphExec.
#pragma once

#include <cushim/graph_exec.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

#include "context/in_context.hpp"
#include "identity.hpp"
#include "kept_resources.hpp"
#include "kind.hpp"
#include "launches.hpp"
#include "state.hpp"

namespace cushim::detail {

// A node of the instantiated graph, or of a graph nested in it.
struct ExecNode {
    CUgraphNode native;
    const GraphIdentity &identity; // identifies the node's graph
};

/* What an executable graph uses: the resources of the graph that it was instantiated or updated
 * from, and those of nodes that were set in it. They are released after the last launch, once
 * others replace them or the executable graph is destroyed. */
class ExecUses {
  public:
    explicit ExecUses(const InContext &exec) noexcept : launches_(exec) {}
    ExecUses(const ExecUses &) = delete;
    ExecUses &operator=(const ExecUses &) = delete;
    // Resources that end() did not release stay alive: the executable graph still exists and may
    // use them.
    ~ExecUses();

    // What a node uses since it was set.
    struct Place {
        // Whether it is exactly these owners, as when a program updates a node in a loop.
        bool keeps(const NewUses &uses) const noexcept;

        std::vector<CUgraphNode> path; // GraphIdentity::path(): those nodes may be destroyed
        std::unique_ptr<KeptUses> kept;
        KnownLaunch known;
    };
    // Null for a node that keeps nothing by itself.
    Place *find(CUgraphNode node) noexcept {
        const auto at = by_node_.find(node);
        return at != by_node_.end() ? &at->second : nullptr;
    }

    // All nodes are those of a graph with these resources; null if it has none.
    void keep(std::unique_ptr<KeptUses> of_graph) noexcept;
    // Updating failed, and nodes may use either the new or the old resources.
    void keep_also(std::unique_ptr<KeptUses> of_graph) noexcept;

    // Reserves room, so that nothing can fail once the node is set.
    Result<Place *> prepare(const ExecNode &node) noexcept;
    // After the call that sets the node to use `kept`, which may be null. If it failed, the node
    // may use either the new or the old resources, unless CUDA rejected the call.
    void keep(CUgraphNode node, std::unique_ptr<KeptUses> kept, const Result<void> &set) noexcept;

    // All nodes nested in this one are those of a graph again.
    void end_inside(CUgraphNode node) noexcept;

    // After each launch; not certain if CUDA may have rejected it.
    void launched(const Stream &stream, bool is_certain = true) noexcept {
        if (of_graph_ != nullptr || !by_node_.empty()) {
            is_certain ? launches_.note(stream) : launches_.note_doubtful(stream);
        }
    }

    // The executable graph is destroyed.
    void end() noexcept { keep(nullptr); }

  private:
    void let_go(std::unique_ptr<KeptUses> kept) noexcept;

    std::unique_ptr<KeptUses> of_graph_;
    std::unordered_map<CUgraphNode, Place> by_node_;
    Launches launches_;
};

struct GraphExecState final : InContext {
    GraphExecState(const Context &in, Api of) noexcept : InContext(in), api(of) {}
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
        Destroyed destroyed =
            destroy_by<entry::cuGraphExecDestroy, entry::cudaGraphExecDestroy>(*this, api, exec);
        if (uses) {
            uses->end();
        }
        return destroyed;
    }

    const Api api;
    const std::shared_ptr<GraphIdentity> identity; // of the instantiated graph; null: unknown
    CUgraphExec exec = nullptr;
    // Null until it keeps something alive: make_uses().
    std::unique_ptr<ExecUses> uses;
    // Whether CUDA keeps the nodes' resources alive: launches may go unnoticed.
    bool is_kept_by_cuda = false;

    Result<void> make_uses() noexcept {
        if (!uses) {
            uses.reset(new (std::nothrow) ExecUses(*this));
        }
        return uses ? Result<void>() : no_host_memory();
    }
};

inline Result<GraphExecState *> state_of_exec(const GraphExec &exec) noexcept {
    auto *const state = static_cast<GraphExecState *>(Access::state(exec));
    if (state == nullptr) [[unlikely]] {
        return Error::invalid_argument("the GraphExec is empty");
    }
    return state;
}

// The owner of state.exec.
GraphExec own_exec(NewState<GraphExecState> &state) noexcept;

} // namespace cushim::detail
