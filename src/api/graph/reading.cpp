// Reading graphs back. The parameters of nodes: kinds/.
#include "reading.hpp"

#include "base/explained.hpp"
#include "relatives.hpp"

namespace cushim {
namespace detail {
namespace {

using GetNodes = Both<entry::cuGraphGetNodes, entry::cudaGraphGetNodes>;
using GetRootNodes = Both<entry::cuGraphGetRootNodes, entry::cudaGraphGetRootNodes>;

// The nodes that this function returns.
template <class Get>
Result<std::vector<CUgraphNode>> read_nodes(Api api, CUgraph graph) {
    return read_natives([&](CUgraphNode *nodes, std::size_t *count) noexcept {
        return call_of<Get>(api, graph, nodes, count);
    });
}

template <class Get>
Result<std::vector<GraphNode>> read_nodes(const char *function, const Graph &graph) noexcept {
    return read_graph(function, graph, nullptr,
                      [](Api api, GraphState &state) -> Result<std::vector<GraphNode>> {
                          CUSHIM_TRY(const auto natives, read_nodes<Get>(api, state.graph));
                          return nodes_of(state, natives);
                      });
}

} // namespace

Result<std::vector<CUgraphNode>> native_nodes(Api api, CUgraph graph) {
    return read_nodes<GetNodes>(api, graph);
}

std::vector<GraphNode> nodes_of(const GraphState &state, const std::vector<CUgraphNode> &natives) {
    std::vector<GraphNode> nodes;
    nodes.reserve(natives.size());
    for (const CUgraphNode native : natives) {
        nodes.push_back(state.name(native));
    }
    return nodes;
}

Result<GraphNodeType> native_type(Api of, CUgraphNode node) noexcept {
    return by_api(of, [&](auto api) noexcept -> Result<GraphNodeType> {
        In<Both<CUgraphNodeType, cudaGraphNodeType>, api> native{};
        using Get = Both<entry::cuGraphNodeGetType, entry::cudaGraphNodeGetType>;
        CUSHIM_TRY_VOID(call<In<Get, api>>(node, &native));
        return static_cast<GraphNodeType>(native);
    });
}
static_assert(int(cudaGraphNodeTypeKernel) == int(GraphNodeType::kernel));
static_assert(int(cudaGraphNodeTypeExtSemaphoreWait) == int(GraphNodeType::semaphore_wait));
static_assert(int(cudaGraphNodeTypeMemFree) == int(GraphNodeType::mem_free));
#if CUDART_VERSION >= 12030
static_assert(int(cudaGraphNodeTypeConditional) == int(GraphNodeType::conditional));
#endif

Result<FoundNode> node_of_type(GraphState &graph, const GraphNode &node,
                               std::initializer_list<GraphNodeType> types) noexcept {
    CUSHIM_TRY(const GraphNodeType found, native_type(graph.api, node.native()));
    for (const GraphNodeType type : types) {
        if (type == found) {
            return FoundNode{graph, node.native(), type};
        }
    }
    const bool is_one = types.size() == 1;
    return invalid_argument("the node has type %s, expected %s%s%s", to_text(found).c_str(),
                            to_text(*types.begin()).c_str(), is_one ? "" : " or ",
                            is_one ? "" : to_text(types.begin()[1]).c_str());
}

} // namespace detail

using namespace detail;

Result<std::size_t> Graph::node_count() const noexcept {
    return read_graph("Graph::node_count", *this, nullptr,
                      [](Api api, GraphState &state) -> Result<std::size_t> {
                          std::size_t count = 0;
                          CUSHIM_TRY_VOID(call_of<GetNodes>(api, state.graph, nullptr, &count));
                          return count;
                      });
}

Result<std::vector<GraphNode>> Graph::nodes() const noexcept {
    return read_nodes<GetNodes>("Graph::nodes", *this);
}

Result<std::vector<GraphNode>> Graph::root_nodes() const noexcept {
    return read_nodes<GetRootNodes>("Graph::root_nodes", *this);
}

Result<GraphNodeType> Graph::node_type(const GraphNode &node) const noexcept {
    return read_graph("Graph::node_type", *this, &node,
                      [&](Api api, GraphState &) -> Result<GraphNodeType> {
                          return native_type(api, node.native());
                      });
}

Result<GraphNode> Graph::find_in_clone(const Graph &original,
                                       const GraphNode &node) const noexcept {
    using Find = Both<entry::cuGraphNodeFindInClone, entry::cudaGraphNodeFindInClone>;
    return named("Graph::find_in_clone", [&]() noexcept -> Result<GraphNode> {
        CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
        CUSHIM_TRY(GraphState *const from, state_of_graph(original, "the original Graph is empty"));
        CUSHIM_TRY_VOID(from->check(node));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUgraphNode found = nullptr;
        const RelativesGuard guard;
        CUSHIM_TRY_VOID(
            explained(call_of<Find>(state->api, &found, node.native(), state->graph),
                      CUDA_ERROR_INVALID_VALUE,
                      "the graph is not a clone of the original, or has no copy of this node"));
        return state->name(found);
    });
}

Result<void> Graph::debug_dot(const char *path, unsigned int flags) const noexcept {
    using Print = Both<entry::cuGraphDebugDotPrint, entry::cudaGraphDebugDotPrint>;
    static_assert(int(cudaGraphDebugDotFlagsVerbose) == int(CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    static_assert(int(cudaGraphDebugDotFlagsHandles) == int(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES));
    return named("Graph::debug_dot", [&]() noexcept -> Result<void> {
        CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
        if (path == nullptr) {
            return Error::invalid_argument("the path is null");
        }
        CUSHIM_TRY(const ContextScope scope, state->enter());
        return explained(call_of<Print>(state->api, state->graph, path, flags),
                         CUDA_ERROR_OPERATING_SYSTEM, "the file cannot be written");
    });
}

} // namespace cushim
