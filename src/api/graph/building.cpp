// Adding, ordering, changing and destroying nodes.
#include <cushim/graph.hpp>

#include <cstdint>
#include <memory>
#include <new>

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

namespace detail {
namespace {

// Until result_of_add_node() takes it. No code of the program may run in between, as it may add
// nodes: closures that were not added are destroyed before.
alignas(Result<GraphNode>) constinit thread_local unsigned char stored[sizeof(Result<GraphNode>)];

Result<GraphNode> result_of(const AddedNode &added) noexcept {
    return added.name != 0 ? GraphAccess::node(added.native, added.name)
                           : result_of_add_node(added.native);
}

} // namespace

AddedNode not_added(const GraphState *state, NodeParameters parameters,
                    const NodeUses &uses) noexcept {
    { const NewUses unused(uses); }
    return added_node(named(not_living(state), added_by(parameters.kind())));
}

AddedNode added_node(Result<GraphNode> &&result) noexcept {
    if (result) {
        return {result->native(), GraphAccess::name(*result)};
    }
    ::new (static_cast<void *>(stored)) Result<GraphNode>(std::move(result));
    return {reinterpret_cast<CUgraphNode>(stored), 0};
}

Result<GraphNode> result_of_add_node(CUgraphNode result) noexcept {
    auto *const waiting = std::launder(reinterpret_cast<Result<GraphNode> *>(result));
    Result<GraphNode> taken = std::move(*waiting);
    std::destroy_at(waiting);
    return taken;
}

AddedNode add_using(GraphState &state, NodesBefore before, NodeParameters parameters,
                    const NodeUses &uses) noexcept {
    Result<GraphNode> added = keeping(state, NewUses(uses), [&]() noexcept {
        return result_of(state.api().add[parameters.kind()](state, before, parameters, {}));
    });
    return added_node(named(std::move(added), added_by(parameters.kind())));
}

AddedNode add_node(const Graph &graph, NodesBefore before, NodeParameters parameters,
                   const NodeUses &uses) noexcept {
    return add_node_by<&GraphApi::add>(any_state_of(graph), before, parameters, uses);
}

} // namespace detail

namespace {

Result<GraphNode> add_any(const Graph &graph, const GraphDependencies &dependencies,
                          NodeParameters parameters, const detail::NodeUses &uses) noexcept {
    return detail::result_of(
        detail::add_node(graph, detail::nodes_before(dependencies), parameters, uses));
}

} // namespace

std::span<const GraphNode> GraphDependencies::nodes() const noexcept {
    return {first(), size_};
}

Result<GraphNode> Graph::add_child_graph_node(const GraphDependencies &dependencies,
                                              const Graph &child) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY(GraphState *const inner, state_of_graph(child, "the child Graph holds no graph"));
    if (&state->api() != &inner->api()) {
        return CUSHIM_NAMED(detail::other_api(state->api(), "the graph", "the child graph"));
    }
    auto uses = inner->uses().share();
    CUSHIM_TRY_VOID(state->uses().prepare(uses));
    Result<GraphNode> added = GraphNode();
    CUSHIM_TRY_VOID(inner->copied([&]() noexcept -> Result<void> {
        added = add_any(*this, dependencies, detail::ChildGraphNode{inner->graph}, {});
        return {};
    }));
    if (added || detail::may_be_done(added.error())) {
        state->uses().keep(std::move(uses));
    }
    if (!added && added.error().status() == CUDA_ERROR_NOT_SUPPORTED) {
        return CUSHIM_NAMED(detail::explained(
            added.error(), "a child graph must not have memory or conditional nodes"));
    }
    return added;
}

Result<GraphNode> Graph::add_event_node(GraphNodeType type, const GraphDependencies &dependencies,
                                        const Event &event) const noexcept {
    const detail::States uses(event);
    return type == GraphNodeType::event_wait
               ? add_any(*this, dependencies, detail::EventWaitNode{event.native()}, {uses})
               : add_any(*this, dependencies, detail::EventRecordNode{event.native()}, {uses});
}

Result<GraphNode>
Graph::add_semaphore_signal_node(const GraphDependencies &dependencies,
                                 std::span<const SemaphoreSignal> signals) const noexcept {
    return CUSHIM_NAMED(detail::with_semaphores<detail::SemaphoreSignalNode>(
        signals, [&](const NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
            return add_any(*this, dependencies, parameters, uses);
        }));
}

Result<GraphNode>
Graph::add_semaphore_wait_node(const GraphDependencies &dependencies,
                               std::span<const SemaphoreWait> waits) const noexcept {
    return CUSHIM_NAMED(detail::with_semaphores<detail::SemaphoreWaitNode>(
        waits, [&](const NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
            return add_any(*this, dependencies, parameters, uses);
        }));
}

Result<GraphNode>
Graph::add_batch_mem_op_node(const GraphDependencies &dependencies,
                             std::span<const CUstreamBatchMemOpParams> operations) const noexcept {
    return add_any(*this, dependencies,
                   detail::BatchMemOpNode{operations.data(), operations.size()}, {});
}

Result<detail::GraphMemory>
Graph::add_allocation(const GraphDependencies &dependencies, Device device, std::size_t count,
                      std::size_t element_size,
                      std::span<const AccessGrant> grants) const noexcept {
    if (count == 0) {
        return CUSHIM_NAMED(Error::invalid_argument("0 elements requested, minimum 1"));
    }
    if (detail::product_overflows(count, element_size)) {
        return detail::too_many_bytes(count, element_size, CUSHIM_HERE);
    }
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUdeviceptr address = 0;
    CUSHIM_TRY(const GraphNode node,
               detail::add_after(*state, detail::nodes_before(dependencies),
                                 [&](const NodePlace &place) noexcept {
                                     return state->api().add_mem_alloc(
                                         place, {device.native(), count * element_size, grants},
                                         &address);
                                 }));
    return detail::GraphMemory(node, address, count);
}

Result<GraphNode> Graph::add_node_raw(const GraphDependencies &dependencies,
                                      void *parameters) const noexcept {
    if (parameters == nullptr) {
        return CUSHIM_NAMED(Error::invalid_argument("the parameters are null"));
    }
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return CUSHIM_NAMED(detail::add_after(
        *state, detail::nodes_before(dependencies),
        [&](const NodePlace &place) noexcept { return state->api().add_raw(place, parameters); }));
}

// --- order

namespace {

using ChangeEdges = Result<void> (*)(CUgraph graph, const detail::EdgeList &edges) noexcept;

struct Edges {
    std::span<const GraphNode> from, to;
    const GraphEdgeData *data = nullptr; // null if no edge has data
    detail::ArrayName from_name = {"from"}, to_name = {"to"};
};

Result<void> change_edges(GraphState &state, ChangeEdges change, const Edges &edges) noexcept {
    const auto &[from, to, data, from_name, to_name] = edges;
    if (from.size() != to.size()) {
        return detail::invalid_argument(
            "`from` has size %zu, but `to` has size %zu; the sizes must be equal", from.size(),
            to.size());
    }
    if (from.empty()) {
        return {};
    }
    NodeHandles sources, targets;
    CUSHIM_TRY_VOID(sources.fill(*state.identity, from, from_name));
    CUSHIM_TRY_VOID(targets.fill(*state.identity, to, to_name));
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
        return change_edges(
            state, change,
            {from, to, has_data ? data.data() : nullptr, {"edges", ".from"}, {"edges", ".to"}});
    });
}

} // namespace

Result<void> Graph::add_dependencies(std::span<const GraphNode> from,
                                     std::span<const GraphNode> to) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return CUSHIM_NAMED(change_edges(*state, state->api().add_dependencies, {from, to}));
}

Result<void> Graph::remove_dependencies(std::span<const GraphNode> from,
                                        std::span<const GraphNode> to) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return CUSHIM_NAMED(change_edges(*state, state->api().remove_dependencies, {from, to}));
}

Result<void> Graph::add_dependencies(std::span<const GraphEdge> edges) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return CUSHIM_NAMED(change_edges(*state, state->api().add_dependencies, edges));
}

Result<void> Graph::remove_dependencies(std::span<const GraphEdge> edges) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    return CUSHIM_NAMED(change_edges(*state, state->api().remove_dependencies, edges));
}

// --- changing and destroying

namespace {

Result<void> set_in(const Graph &graph, const GraphNode &node, const NodeParameters &parameters,
                    NewUses &&uses) noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    CUSHIM_TRY_VOID(detail::check_node(*state->identity, node));
    CUSHIM_TRY_VOID(detail::check_new_parameters(state->api(), parameters,
                                                 "to remove the node, call Graph::destroy_node()"));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return detail::keeping(*state, std::move(uses), [&]() noexcept {
        return state->api().set(node.native(), parameters, state->context);
    });
}

} // namespace

Result<void> Graph::set(const GraphNode &node, const NodeParameters &parameters,
                        const detail::NodeUses &uses) const noexcept {
    static constexpr detail::NodeFunctions functions = {CUSHIM_NODE_FUNCTIONS("Graph::set_")};
    return detail::named(set_in(*this, node, parameters, NewUses(uses)),
                         functions[parameters.kind()]);
}

Result<void> Graph::set_signals(const GraphNode &node,
                                std::span<const SemaphoreSignal> signals) const noexcept {
    return detail::named(
        detail::with_semaphores<detail::SemaphoreSignalNode>(
            signals,
            [&](const NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
                return set(node, parameters, uses);
            }),
        "Graph::set_semaphore_signal_node");
}

Result<void> Graph::set_waits(const GraphNode &node,
                              std::span<const SemaphoreWait> waits) const noexcept {
    return detail::named(
        detail::with_semaphores<detail::SemaphoreWaitNode>(
            waits,
            [&](const NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
                return set(node, parameters, uses);
            }),
        "Graph::set_semaphore_wait_node");
}

Result<void> Graph::destroy_node(const GraphNode &node) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    CUSHIM_TRY_VOID(detail::check_node(*state->identity, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return CUSHIM_NAMED(detail::with_memory([&]() -> Result<void> {
        state->identity->prepare_to_forget(node.native());
        Result<void> destroyed =
            detail::explained(state->api().destroy_node(node.native()), CUDA_ERROR_NOT_SUPPORTED,
                              "nodes of a graph with memory nodes cannot be destroyed");
        if (destroyed || detail::may_be_done(destroyed.error())) {
            state->identity->forget(node.native());
        }
        return destroyed;
    }));
}

} // namespace cushim
