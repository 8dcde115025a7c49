// Whole graphs, edges, and the API's table of functions.
//
// driver.cpp and runtime.cpp compile this and what it includes, each with the header for its
// API. Functions are named by the common part, without cu or cuda: CUSHIM_GRAPH(GraphClone, ...).
#pragma once

#include <algorithm>
#include <vector>

#include "base/with_memory.hpp"
#include "graph/relatives.hpp"
#include "memory/allocation.hpp"
#include "new_nodes.hpp"
#include "nodes.hpp"
#include "nodes_by_arguments.hpp"
#include "reading.hpp"
#include "running.hpp"

namespace cushim::detail {
namespace {

Result<void> create(CUgraph *graph) noexcept {
    return CUSHIM_GRAPH(GraphCreate, graph, 0);
}

Destroyed destroy(CUgraph graph) noexcept {
    const RelativesGuard guard;
    return CUSHIM_GRAPH_DESTROY(GraphDestroy, graph);
}

Result<void> clone(CUgraph *clone, CUgraph original) noexcept {
    const RelativesGuard guard;
    return CUSHIM_GRAPH(GraphClone, clone, original);
}

Result<void> find_in_clone(CUgraphNode *found, CUgraphNode original, CUgraph clone) noexcept {
    const RelativesGuard guard;
    return CUSHIM_GRAPH(GraphNodeFindInClone, found, original, clone);
}

Result<void> destroy_node(CUgraphNode node) noexcept {
    const RelativesGuard guard;
    return CUSHIM_GRAPH(GraphDestroyNode, node);
}

// --- nodes with outputs

Result<void> add_mem_alloc(const NodePlace &place, const MemAllocRequest &request,
                           CUdeviceptr *address) noexcept {
    return with_memory([&]() -> Result<void> {
        std::vector<decltype(native_grant(request.grants[0]))> grants;
        for (const AccessGrant &grant : request.grants) {
            grants.push_back(native_grant(grant));
        }
        CUSHIM_EITHER(CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams) parameters{};
        auto &pool = parameters.poolProps;
        pool.allocType = CUSHIM_EITHER(CU_MEM_ALLOCATION_TYPE_PINNED, cudaMemAllocationTypePinned);
        pool.handleTypes = CUSHIM_EITHER(CU_MEM_HANDLE_TYPE_NONE, cudaMemHandleTypeNone);
        pool.location.type = CUSHIM_EITHER(CU_MEM_LOCATION_TYPE_DEVICE, cudaMemLocationTypeDevice);
        pool.location.id = request.device;
        parameters.accessDescs = grants.empty() ? nullptr : grants.data();
        parameters.accessDescCount = grants.size();
        parameters.bytesize = request.bytes;
        Result<void> added = CUSHIM_GRAPH(GraphAddMemAllocNode, place.node, place.graph,
                                          place.dependencies, place.count, &parameters);
        if (!added && added.error().status() == CUDA_ERROR_OUT_OF_MEMORY) {
            const Available available = available_on(Device::from_native(request.device));
            char free[40] = "";
            if (available.free) {
                std::snprintf(free, sizeof free, ", %zu free", *available.free);
            }
            return explained(added.error(), "%zu byte%s requested on device %d%s", request.bytes,
                             plural(request.bytes), request.device, free);
        }
        CUSHIM_TRY_VOID(added);
        *address = address_of(parameters.dptr);
        return {};
    });
}

Result<void> add_conditional([[maybe_unused]] const NodePlace &place,
                             [[maybe_unused]] const ConditionalRequest &request,
                             [[maybe_unused]] CUgraph *bodies) noexcept {
#if CUSHIM_GRAPH_HEADERS >= 12030
    CUSHIM_EITHER(CUgraphNodeParams, cudaGraphNodeParams) parameters{};
    parameters.type = CUSHIM_EITHER(CU_GRAPH_NODE_TYPE_CONDITIONAL, cudaGraphNodeTypeConditional);
    auto &conditional = parameters.conditional;
    conditional.handle = request.handle;
    conditional.type = static_cast<decltype(conditional.type)>(request.type);
    conditional.size = request.bodies;
    set_context(conditional, place.context);
    CUSHIM_TRY_VOID(add_raw(place, &parameters));
    std::copy_n(conditional.phGraph_out, request.bodies, bodies);
    return {};
#else
    return Error::requires_newer_headers(CUSHIM_GRAPH_NAME(GraphConditionalHandleCreate),
                                         Version::of(12, 3));
#endif
}

// --- order

#if CUSHIM_GRAPH_HEADERS >= 12030
Result<std::unique_ptr<EdgeData[]>> native_edges(const EdgeList &edges) noexcept {
    CUSHIM_TRY(auto data, edge_array(edges.count));
    for (std::size_t index = 0; index < edges.count; ++index) {
        data[index].from_port = edges.data[index].from_port;
        data[index].to_port = edges.data[index].to_port;
        data[index].type = edges.data[index].type;
    }
    return data;
}
#define CUSHIM_CHANGE_EDGES(function, graph, edges)                                                \
    CUSHIM_TRY(const auto data, native_edges(edges));                                              \
    return CUSHIM_DATA_EDGES(function, data.get(), (edges).count, graph, (edges).from, (edges).to)
#else
#define CUSHIM_CHANGE_EDGES(function, graph, edges)                                                \
    return Error::requires_newer_headers(CUSHIM_EITHER("CUgraphEdgeData", "cudaGraphEdgeData"),    \
                                         Version::of(12, 3))
#endif

Result<void> add_dependencies(CUgraph graph, const EdgeList &edges) noexcept {
    if (edges.data == nullptr) {
        return CUSHIM_PLAIN_EDGES(GraphAddDependencies, edges.count, graph, edges.from, edges.to);
    }
    CUSHIM_CHANGE_EDGES(GraphAddDependencies, graph, edges);
}

Result<void> remove_dependencies(CUgraph graph, const EdgeList &edges) noexcept {
    if (edges.data == nullptr) {
        return CUSHIM_PLAIN_EDGES(GraphRemoveDependencies, edges.count, graph, edges.from,
                                  edges.to);
    }
    CUSHIM_CHANGE_EDGES(GraphRemoveDependencies, graph, edges);
}

#undef CUSHIM_CHANGE_EDGES

} // namespace

const GraphApi CUSHIM_EITHER(driver_graphs, runtime_graphs) = {
    .api = CUSHIM_EITHER(Api::driver, Api::runtime),
    .read =
        {
            .nodes = nodes,
            .root_nodes = root_nodes,
            .edges = edges,
            .dependencies = dependencies,
            .dependents = dependents,
            .node_type = node_type,
            .kernel_params = kernel_params,
            .memcpy_params = memcpy_params,
            .memset_params = memset_params,
            .host_params = host_params,
            .event_record_event = event_record_event,
            .event_wait_event = event_wait_event,
            .signal_params = signal_params,
            .wait_params = wait_params,
            .batch_mem_op_params = batch_mem_op_params,
            .mem_alloc_params = mem_alloc_params,
            .mem_free_ptr = mem_free_ptr,
            .child_graph = child_graph,
            .conditional_params = conditional_params,
            .debug_dot = debug_dot,
        },
    .exec =
        {
            .instantiate = instantiate,
            .destroy = destroy_exec,
            .launch = launch,
            .upload = upload,
            .update = update,
            .set_enabled = set_enabled,
            .is_enabled = is_enabled,
            .flags = flags,
        },
    .capture = {.begin = begin_capture, .begin_to = begin_capture_to, .end = end_capture},
    .create = create,
    .destroy = destroy,
    .clone = clone,
    .find_in_clone = find_in_clone,
    .destroy_node = destroy_node,
    .add = add_nodes(NodeParameters::Kinds()),
    .add_after_one = add_nodes_after_one(NodeParameters::Kinds()),
    .add_by_arguments = adders_by_arguments(),
    .check = check_node_parameters,
    .set = set_node,
    .exec_set = exec_set_node,
    .add_mem_alloc = add_mem_alloc,
    .create_condition = create_condition,
    .add_conditional = add_conditional,
    .add_raw = add_raw,
    .add_dependencies = add_dependencies,
    .remove_dependencies = remove_dependencies,
};

} // namespace cushim::detail
