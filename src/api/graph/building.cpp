// Adding, ordering, changing and destroying nodes.
#include <cushim/graph.hpp>

#include "adding.hpp"
#include "parameters.hpp"

namespace cushim {
namespace {

using detail::GraphState;
using detail::NewUses;
using detail::NodeHandles;
using detail::NodeParameters;
using detail::NodePlace;
using detail::state_of_graph;

} // namespace

// --- adding

Result<GraphNode> Graph::add(const GraphDependencies &dependencies,
                             const NodeParameters &parameters,
                             const detail::NodeUses &uses) const noexcept {
    if (detail::is_of_nothing(parameters)) {
        return add(dependencies, detail::EmptyNode(), uses);
    }
    // First, since it takes ownership of a closure.
    NewUses kept(uses);
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    const detail::GraphApi &api = state->api();
    CUSHIM_TRY_VOID(api.check(parameters));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return detail::add_keeping(
        *state, dependencies, std::move(kept),
        [&](const NodePlace &place) noexcept { return api.add(place, parameters); });
}

Result<GraphNode> Graph::add_host_closure(const GraphDependencies &dependencies,
                                          detail::Closure closure) const noexcept {
    if (closure.object == nullptr) {
        return detail::no_host_memory();
    }
    return add(dependencies, detail::HostNode{closure.call, closure.object}, {{}, closure});
}

Result<GraphNode> Graph::add_child_graph_node(const GraphDependencies &dependencies,
                                              const Graph &child) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY(GraphState *const inner, state_of_graph(child));
    if (&state->api() != &inner->api()) {
        return Error::unsupported_platform(
            "Graph::add_child_graph_node: the child graph was created by the other API");
    }
    return add(dependencies, detail::ChildGraphNode{inner->graph}, {});
}

Result<GraphNode> Graph::add_event_node(GraphNodeType type, const GraphDependencies &dependencies,
                                        const Event &event) const noexcept {
    detail::State *const uses[] = {detail::state_of(&event)};
    return type == GraphNodeType::event_wait
               ? add(dependencies, detail::EventWaitNode{event.native()}, {uses})
               : add(dependencies, detail::EventRecordNode{event.native()}, {uses});
}

Result<GraphNode>
Graph::add_semaphore_signal_node(const GraphDependencies &dependencies,
                                 std::span<const SemaphoreSignal> signals) const noexcept {
    return detail::with_semaphores<detail::SemaphoreSignalNode>(
        signals, [&](const NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
            return add(dependencies, parameters, uses);
        });
}

Result<GraphNode>
Graph::add_semaphore_wait_node(const GraphDependencies &dependencies,
                               std::span<const SemaphoreWait> waits) const noexcept {
    return detail::with_semaphores<detail::SemaphoreWaitNode>(
        waits, [&](const NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
            return add(dependencies, parameters, uses);
        });
}

Result<GraphNode>
Graph::add_batch_mem_op_node(const GraphDependencies &dependencies,
                             std::span<const CUstreamBatchMemOpParams> operations) const noexcept {
    return add(dependencies, detail::BatchMemOpNode{operations.data(), operations.size()}, {});
}

Result<detail::GraphMemory>
Graph::add_allocation(const GraphDependencies &dependencies, Device device, std::size_t count,
                      std::size_t element_size,
                      std::span<const AccessGrant> grants) const noexcept {
    if (count == 0) {
        return Error::invalid_argument("Graph::add_allocation: the size is 0");
    }
    if (detail::product_overflows(count, element_size)) {
        return detail::invalid_argument(
            "Graph::add_allocation: %zu elements of %zu bytes exceed the address space", count,
            element_size);
    }
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUdeviceptr address = 0;
    CUSHIM_TRY(const GraphNode node,
               detail::add_keeping(
                   *state, dependencies, NewUses({}), [&](const NodePlace &place) noexcept {
                       return state->api().add_mem_alloc(
                           place, {device.native(), count * element_size, grants}, &address);
                   }));
    return detail::GraphMemory(node, address, count);
}

Result<GraphNode> Graph::add_node_raw(const GraphDependencies &dependencies,
                                      void *parameters) const noexcept {
    if (parameters == nullptr) {
        return Error::invalid_argument("Graph::add_node_raw: the parameters are null");
    }
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return detail::add_keeping(
        *state, dependencies, NewUses({}),
        [&](const NodePlace &place) noexcept { return state->api().add_raw(place, parameters); });
}

// --- order

namespace {

using ChangeEdges = Result<void> (*)(CUgraph graph, const detail::EdgeList &edges) noexcept;

Result<void> change_edges(GraphState &state, ChangeEdges change, std::span<const GraphNode> from,
                          std::span<const GraphNode> to, const GraphEdgeData *data) noexcept {
    if (from.size() != to.size()) {
        return detail::invalid_argument("edges: %zu start nodes, but %zu end nodes", from.size(),
                                        to.size());
    }
    if (from.empty()) {
        return {};
    }
    NodeHandles sources, targets;
    CUSHIM_TRY_VOID(sources.fill(*state.identity, from));
    CUSHIM_TRY_VOID(targets.fill(*state.identity, to));
    CUSHIM_TRY(const ContextScope scope, state.enter());
    return change(state.graph, {sources.data(), targets.data(), data, from.size()});
}

Result<void> change_edges(GraphState &state, ChangeEdges change,
                          std::span<const GraphEdge> edges) noexcept {
    return detail::with_memory([&]() -> Result<void> {
        std::vector<GraphNode> from, to;
        std::vector<GraphEdgeData> data;
        bool has_data = false;
        for (const GraphEdge &edge : edges) {
            from.push_back(edge.from);
            to.push_back(edge.to);
            data.push_back(edge.data);
            has_data = has_data || edge.data != GraphEdgeData();
        }
        return change_edges(state, change, from, to, has_data ? data.data() : nullptr);
    });
}

} // namespace

Result<void> Graph::add_dependencies(std::span<const GraphNode> from,
                                     std::span<const GraphNode> to) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return change_edges(*state, state->api().add_dependencies, from, to, nullptr);
}

Result<void> Graph::remove_dependencies(std::span<const GraphNode> from,
                                        std::span<const GraphNode> to) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return change_edges(*state, state->api().remove_dependencies, from, to, nullptr);
}

Result<void> Graph::add_dependencies(std::span<const GraphEdge> edges) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return change_edges(*state, state->api().add_dependencies, edges);
}

Result<void> Graph::remove_dependencies(std::span<const GraphEdge> edges) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return change_edges(*state, state->api().remove_dependencies, edges);
}

// --- changing and destroying

Result<void> Graph::set(const GraphNode &node, const NodeParameters &parameters,
                        const detail::NodeUses &uses) const noexcept {
    NewUses kept(uses);
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY_VOID(detail::check_node(*state->identity, node));
    CUSHIM_TRY_VOID(detail::check_new_parameters(state->api(), parameters));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(state->uses.prepare(state->api(), state->graph, kept));
    Result<void> done = state->api().set(node.native(), parameters, state->context);
    if (done || detail::may_be_done(done.error())) {
        state->uses.keep(std::move(kept));
    }
    return done;
}

Result<void> Graph::set_signals(const GraphNode &node,
                                std::span<const SemaphoreSignal> signals) const noexcept {
    return detail::with_semaphores<detail::SemaphoreSignalNode>(
        signals,
        [&](const detail::NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
            return set(node, parameters, uses);
        });
}

Result<void> Graph::set_waits(const GraphNode &node,
                              std::span<const SemaphoreWait> waits) const noexcept {
    return detail::with_semaphores<detail::SemaphoreWaitNode>(
        waits, [&](const detail::NodeParameters &parameters,
                   const detail::NodeUses &uses) noexcept { return set(node, parameters, uses); });
}

Result<void> Graph::destroy_node(const GraphNode &node) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY_VOID(detail::check_node(*state->identity, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return detail::with_memory([&]() -> Result<void> {
        state->identity->prepare_to_forget(node.native());
        Result<void> destroyed = state->api().destroy_node(node.native());
        if (destroyed || detail::may_be_done(destroyed.error())) {
            state->identity->forget(node.native());
        }
        return destroyed;
    });
}

} // namespace cushim
