// Reading graphs. Compiled for each API: graph.hpp.
#pragma once

#include <memory>
#include <new>

#include "base/with_memory.hpp"

namespace cushim::detail {
namespace {

Result<void> nodes(CUgraph graph, const NodeRoom &room) noexcept {
    return CUSHIM_GRAPH(GraphGetNodes, graph, room.nodes, room.count);
}

Result<void> root_nodes(CUgraph graph, const NodeRoom &room) noexcept {
    return CUSHIM_GRAPH(GraphGetRootNodes, graph, room.nodes, room.count);
}

// --- edges

#if CUSHIM_GRAPH_HEADERS >= 12030
using EdgeData = CUSHIM_EITHER(CUgraphEdgeData, cudaGraphEdgeData);
static_assert(sizeof(EdgeData) == 8);

// Null if the list is empty.
Result<std::unique_ptr<EdgeData[]>> edge_array(std::size_t count) noexcept {
    std::unique_ptr<EdgeData[]> data(count != 0 ? new (std::nothrow) EdgeData[count]() : nullptr);
    if (!data && count != 0) {
        return no_host_memory();
    }
    return data;
}
#endif

// Reads edges together with an array of their data.
Result<void> edges(CUgraph graph, const EdgeRoom &room) noexcept {
#if CUSHIM_GRAPH_HEADERS >= 12030
    if (reads_edge_data()) {
        CUSHIM_TRY(const auto data, edge_array(room.data == nullptr ? 0 : *room.count));
        CUSHIM_TRY_VOID(
            CUSHIM_DATA_EDGES(GraphGetEdges, data.get(), room.count, graph, room.from, room.to));
        for (std::size_t index = 0; data && index < *room.count; ++index) {
            room.data[index] = {data[index].from_port, data[index].to_port, data[index].type};
        }
        return {};
    }
#endif
    return CUSHIM_PLAIN_EDGES(GraphGetEdges, room.count, graph, room.from, room.to);
}

// The same for the edges of one node. CUDA fails if an edge has data and no array is passed.
#if CUSHIM_GRAPH_HEADERS >= 12030
#define CUSHIM_NEIGHBOURS(function, node, room)                                                    \
    if (reads_edge_data()) {                                                                       \
        CUSHIM_TRY(const auto data, edge_array((room).nodes == nullptr ? 0 : *(room).count));      \
        return CUSHIM_DATA_EDGES(function, data.get(), (room).count, node, (room).nodes);          \
    }                                                                                              \
    return CUSHIM_PLAIN_EDGES(function, (room).count, node, (room).nodes)
#else
#define CUSHIM_NEIGHBOURS(function, node, room)                                                    \
    return CUSHIM_PLAIN_EDGES(function, (room).count, node, (room).nodes)
#endif

Result<void> dependencies(CUgraphNode node, const NodeRoom &room) noexcept {
    CUSHIM_NEIGHBOURS(GraphNodeGetDependencies, node, room);
}

Result<void> dependents(CUgraphNode node, const NodeRoom &room) noexcept {
    CUSHIM_NEIGHBOURS(GraphNodeGetDependentNodes, node, room);
}

#undef CUSHIM_NEIGHBOURS

// --- nodes: kernels, copies and conditional nodes are in the API's own header

inline unsigned long long address_of(CUdeviceptr address) noexcept {
    return address;
}
inline unsigned long long address_of(const void *pointer) noexcept {
    return reinterpret_cast<unsigned long long>(pointer);
}

Result<void> node_type(CUgraphNode node, GraphNodeType *type) noexcept {
    CUSHIM_EITHER(CUgraphNodeType, cudaGraphNodeType) native{};
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphNodeGetType, node, &native));
    *type = static_cast<GraphNodeType>(native);
    return {};
}

Result<void> memset_params(CUgraphNode node, MemsetNodeParams *params) noexcept {
    CUSHIM_EITHER(CUDA_MEMSET_NODE_PARAMS, cudaMemsetParams) native{};
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphMemsetNodeGetParams, node, &native));
    params->to = {
        address_of(native.dst), {native.width, native.height, 1}, {native.pitch, native.height}};
    params->element_size = native.elementSize;
    params->value = native.value;
    return {};
}

Result<void> host_params(CUgraphNode node, HostNodeParams *params) noexcept {
    CUSHIM_EITHER(CUDA_HOST_NODE_PARAMS, cudaHostNodeParams) native{};
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphHostNodeGetParams, node, &native));
    *params = {native.fn, native.userData};
    return {};
}

Result<void> event_record_event(CUgraphNode node, CUevent *event) noexcept {
    return CUSHIM_GRAPH(GraphEventRecordNodeGetEvent, node, event);
}

Result<void> event_wait_event(CUgraphNode node, CUevent *event) noexcept {
    return CUSHIM_GRAPH(GraphEventWaitNodeGetEvent, node, event);
}

// Signals have no timeout.
template <class Operation>
SemaphoreNodeParams semaphore_params(const Operation &operation) noexcept {
    constexpr unsigned int skips = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC |
                                   CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC;
    SemaphoreNodeParams params;
    params.value = operation.params.fence.value;
    params.key = operation.params.keyedMutex.key;
    if constexpr (requires { operation.params.keyedMutex.timeoutMs; }) {
        params.timeout_ms = operation.params.keyedMutex.timeoutMs;
    }
    params.fence = operation.params.nvSciSync.fence;
    params.skip_memory_sync = (operation.flags & skips) != 0;
    return params;
}

// The node owns the arrays.
template <class Node>
Result<void> read_semaphores(const Node &node, SemaphoreParams *to) noexcept {
    return with_memory([&]() -> Result<void> {
        to->reserve(node.numExtSems);
        for (unsigned int index = 0; index < node.numExtSems; ++index) {
            SemaphoreNodeParams params = semaphore_params(node.paramsArray[index]);
            params.semaphore = reinterpret_cast<CUexternalSemaphore>(node.extSemArray[index]);
            to->push_back(params);
        }
        return {};
    });
}

Result<void> signal_params(CUgraphNode node, SemaphoreParams *params) noexcept {
    CUSHIM_EITHER(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, cudaExternalSemaphoreSignalNodeParams) native{};
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphExternalSemaphoresSignalNodeGetParams, node, &native));
    return read_semaphores(native, params);
}

Result<void> wait_params(CUgraphNode node, SemaphoreParams *params) noexcept {
    CUSHIM_EITHER(CUDA_EXT_SEM_WAIT_NODE_PARAMS, cudaExternalSemaphoreWaitNodeParams) native{};
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphExternalSemaphoresWaitNodeGetParams, node, &native));
    return read_semaphores(native, params);
}

Result<void> batch_mem_op_params([[maybe_unused]] CUgraphNode node,
                                 [[maybe_unused]] BatchMemOpParams *params) noexcept {
#ifdef CUSHIM_GRAPH_LACKS_BATCH_MEM_OPS
    return lacks_batch_mem_ops("cuGraphBatchMemOpNodeGetParams");
#else
    CUDA_BATCH_MEM_OP_NODE_PARAMS native{};
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphBatchMemOpNodeGetParams, node, &native));
    return with_memory([&]() -> Result<void> {
        params->assign(native.paramArray, native.paramArray + native.count); // owned by the node
        return {};
    });
#endif
}

Result<void> mem_alloc_params(CUgraphNode node, MemAllocNodeParams *params) noexcept {
    CUSHIM_EITHER(CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams) native{};
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphMemAllocNodeGetParams, node, &native));
    *params = {address_of(native.dptr), native.bytesize, native.poolProps.location.id};
    return {};
}

Result<void> mem_free_ptr(CUgraphNode node, CUdeviceptr *address) noexcept {
    CUSHIM_EITHER(CUdeviceptr, void *) pointer{};
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphMemFreeNodeGetParams, node, &pointer));
    *address = address_of(pointer);
    return {};
}

Result<void> child_graph(CUgraphNode node, CUgraph *graph) noexcept {
    return CUSHIM_GRAPH(GraphChildGraphNodeGetGraph, node, graph);
}

Result<void> debug_dot(CUgraph graph, const char *path, unsigned int flags) noexcept {
    return CUSHIM_GRAPH(GraphDebugDotPrint, graph, path, flags);
}

} // namespace
} // namespace cushim::detail
