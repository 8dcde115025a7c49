// Reading graphs back.
#include <cushim/graph_conditional.hpp>

#include "state.hpp"

namespace cushim {
namespace {

using detail::GraphState;
using detail::state_of_graph;

// The result of `read(room)` as names of nodes.
template <class Read>
Result<std::vector<GraphNode>> read_nodes(GraphState &state, const Read &read) noexcept {
    return detail::with_memory([&]() -> Result<std::vector<GraphNode>> {
        CUSHIM_TRY(const ContextScope scope, state.enter());
        CUSHIM_TRY(const std::vector<CUgraphNode> natives, detail::read_natives(read));
        std::vector<GraphNode> nodes;
        nodes.reserve(natives.size());
        for (const CUgraphNode native : natives) {
            nodes.push_back(state.identity->node(native));
        }
        return nodes;
    });
}

Error other_type(GraphNodeType found, const char *expected) noexcept {
    return detail::invalid_argument("the node has type %s, expected %s", to_text(found).c_str(),
                                    expected);
}

// For functions that read one property of a node of a given type.
template <class Value>
Result<Value>
read_node(const Graph &graph, const GraphNode &node, GraphNodeType type,
          Result<void> (*detail::GraphReading::*function)(CUgraphNode, Value *) noexcept) noexcept {
    CUSHIM_TRY(const GraphNodeType found, graph.node_type(node));
    if (found != type) {
        return other_type(found, to_text(type).c_str());
    }
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    Value value{};
    CUSHIM_TRY_VOID((state->api().read.*function)(node.native(), &value));
    return value;
}

} // namespace

Result<std::size_t> Graph::node_count() const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    std::size_t count = 0;
    CUSHIM_TRY_VOID(state->api().read.nodes(state->graph, {nullptr, &count}));
    return count;
}

Result<std::vector<GraphNode>> Graph::nodes() const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return CUSHIM_NAMED(read_nodes(*state, [state](const detail::NodeRoom &room) noexcept {
        return state->api().read.nodes(state->graph, room);
    }));
}

Result<std::vector<GraphNode>> Graph::root_nodes() const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return CUSHIM_NAMED(read_nodes(*state, [state](const detail::NodeRoom &room) noexcept {
        return state->api().read.root_nodes(state->graph, room);
    }));
}

Result<std::vector<GraphEdge>> Graph::edges() const noexcept {
    return CUSHIM_NAMED(detail::with_memory([this]() -> Result<std::vector<GraphEdge>> {
        CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        const auto read = state->api().read.edges;
        std::size_t count = 0;
        CUSHIM_TRY_VOID(read(state->graph, {nullptr, nullptr, nullptr, &count}));
        std::vector<CUgraphNode> from(count), to(count);
        std::vector<GraphEdgeData> data(count);
        if (count != 0) {
            CUSHIM_TRY_VOID(read(state->graph, {from.data(), to.data(), data.data(), &count}));
        }
        std::vector<GraphEdge> edges;
        edges.reserve(count);
        for (std::size_t index = 0; index < count; ++index) {
            edges.push_back({state->identity->node(from[index]), state->identity->node(to[index]),
                             data[index]});
        }
        return edges;
    }));
}

Result<std::vector<GraphNode>> Graph::dependencies(const GraphNode &node) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY_VOID(detail::check_node(*state->identity, node));
    return CUSHIM_NAMED(read_nodes(*state, [&](const detail::NodeRoom &room) noexcept {
        return state->api().read.dependencies(node.native(), room);
    }));
}

Result<std::vector<GraphNode>> Graph::dependents(const GraphNode &node) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY_VOID(detail::check_node(*state->identity, node));
    return CUSHIM_NAMED(read_nodes(*state, [&](const detail::NodeRoom &room) noexcept {
        return state->api().read.dependents(node.native(), room);
    }));
}

Result<GraphNodeType> Graph::node_type(const GraphNode &node) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY_VOID(detail::check_node(*state->identity, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    GraphNodeType type{};
    CUSHIM_TRY_VOID(state->api().read.node_type(node.native(), &type));
    return type;
}

Result<KernelNodeParams> Graph::kernel_node_params(const GraphNode &node) const noexcept {
    return CUSHIM_NAMED(
        read_node(*this, node, GraphNodeType::kernel, &detail::GraphReading::kernel_params));
}

Result<MemcpyNodeParams> Graph::memcpy_node_params(const GraphNode &node) const noexcept {
    return CUSHIM_NAMED(
        read_node(*this, node, GraphNodeType::memcpy, &detail::GraphReading::memcpy_params));
}

Result<MemsetNodeParams> Graph::memset_node_params(const GraphNode &node) const noexcept {
    return CUSHIM_NAMED(
        read_node(*this, node, GraphNodeType::memset, &detail::GraphReading::memset_params));
}

Result<HostNodeParams> Graph::host_node_params(const GraphNode &node) const noexcept {
    return CUSHIM_NAMED(
        read_node(*this, node, GraphNodeType::host, &detail::GraphReading::host_params));
}

Result<Event> Graph::event_of(const GraphNode &node) const noexcept {
    CUSHIM_TRY(const GraphNodeType type, node_type(node));
    if (type != GraphNodeType::event_record && type != GraphNodeType::event_wait) {
        return CUSHIM_NAMED(
            other_type(type, "GraphNodeType::event_record or GraphNodeType::event_wait"));
    }
    CUSHIM_TRY(const CUevent event, read_node(*this, node, type,
                                              type == GraphNodeType::event_wait
                                                  ? &detail::GraphReading::event_wait_event
                                                  : &detail::GraphReading::event_record_event));
    return Event::borrow(event);
}

Result<std::vector<SemaphoreNodeParams>>
Graph::semaphore_node_params(const GraphNode &node) const noexcept {
    CUSHIM_TRY(const GraphNodeType type, node_type(node));
    if (type != GraphNodeType::semaphore_signal && type != GraphNodeType::semaphore_wait) {
        return CUSHIM_NAMED(
            other_type(type, "GraphNodeType::semaphore_signal or GraphNodeType::semaphore_wait"));
    }
    return CUSHIM_NAMED(read_node(*this, node, type,
                                  type == GraphNodeType::semaphore_wait
                                      ? &detail::GraphReading::wait_params
                                      : &detail::GraphReading::signal_params));
}

Result<std::vector<CUstreamBatchMemOpParams>>
Graph::batch_mem_op_node_params(const GraphNode &node) const noexcept {
    return CUSHIM_NAMED(read_node(*this, node, GraphNodeType::batch_mem_op,
                                  &detail::GraphReading::batch_mem_op_params));
}

Result<MemAllocNodeParams> Graph::mem_alloc_node_params(const GraphNode &node) const noexcept {
    return CUSHIM_NAMED(
        read_node(*this, node, GraphNodeType::mem_alloc, &detail::GraphReading::mem_alloc_params));
}

Result<CUdeviceptr> Graph::mem_free_ptr(const GraphNode &node) const noexcept {
    return CUSHIM_NAMED(
        read_node(*this, node, GraphNodeType::mem_free, &detail::GraphReading::mem_free_ptr));
}

Result<Graph> Graph::child_graph(const GraphNode &node) const noexcept {
    CUSHIM_TRY(const CUgraph child, read_node(*this, node, GraphNodeType::child_graph,
                                              &detail::GraphReading::child_graph));
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return CUSHIM_NAMED(detail::graph_inside(*state, node.native(), child));
}

Result<ConditionalNodeParams> Graph::conditional_node_params(const GraphNode &node) const noexcept {
    return CUSHIM_NAMED(detail::with_memory([&]() -> Result<ConditionalNodeParams> {
        CUSHIM_TRY(const detail::NativeConditional native,
                   read_node(*this, node, GraphNodeType::conditional,
                             &detail::GraphReading::conditional_params));
        CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
        ConditionalNodeParams params = {native.type, native.handle, {}};
        for (const CUgraph body : native.bodies) {
            CUSHIM_TRY(Graph inside, detail::graph_inside(*state, node.native(), body));
            params.bodies.push_back(std::move(inside));
        }
        return params;
    }));
}

Result<GraphNode> Graph::find_in_clone(const Graph &original,
                                       const GraphNode &node) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY(GraphState *const from,
               state_of_graph(original, "the original Graph holds no graph"));
    CUSHIM_TRY_VOID(detail::check_node(*from->identity, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUgraphNode found = nullptr;
    CUSHIM_TRY_VOID(detail::explained(
        state->api().find_in_clone(&found, node.native(), state->graph), CUDA_ERROR_INVALID_VALUE,
        "the graph is not a clone of the original, or has no copy of this node"));
    return state->identity->node(found);
}

Result<void> Graph::debug_dot(const char *path, unsigned int flags) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    if (path == nullptr) {
        return CUSHIM_NAMED(detail::invalid_argument("the path is null"));
    }
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return CUSHIM_NAMED(detail::explained(state->api().read.debug_dot(state->graph, path, flags),
                                          CUDA_ERROR_OPERATING_SYSTEM,
                                          "the file cannot be written"));
}

} // namespace cushim
