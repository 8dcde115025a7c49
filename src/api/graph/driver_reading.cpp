// Reading graphs by the driver API.
#include "common_calls.hpp"
#include "driver.hpp"
#include "semaphore_nodes.hpp"

#include <cushim/feature.hpp>
#include <cushim/loader.hpp>

namespace cushim::detail {
namespace {

Result<void> nodes(CUgraph graph, const NodeRoom &room) noexcept {
    return CUSHIM_DRIVER(cuGraphGetNodes, graph, room.nodes, room.count);
}

Result<void> root_nodes(CUgraph graph, const NodeRoom &room) noexcept {
    return CUSHIM_DRIVER(cuGraphGetRootNodes, graph, room.nodes, room.count);
}

// The older call refuses graphs that have edges with data, and is all that older drivers have.
Result<void> edges(CUgraph graph, const EdgeRoom &room) noexcept {
#if CUDA_VERSION >= 12030
    if (supports(driver_version(), Feature::graph_edge_data)) {
        return read_edges<CUgraphEdgeData>(room, [&](CUgraphEdgeData *data) noexcept {
            return CUSHIM_DRIVER(cuGraphGetEdges_v2, graph, room.from, room.to, data, room.count);
        });
    }
#endif
    return CUSHIM_DRIVER(cuGraphGetEdges_v1, graph, room.from, room.to, room.count);
}

Result<void> dependencies(CUgraphNode node, const NodeRoom &room) noexcept {
#if CUDA_VERSION >= 12030
    if (supports(driver_version(), Feature::graph_edge_data)) {
        return read_neighbours<CUgraphEdgeData>(room, [&](CUgraphEdgeData *data) noexcept {
            return CUSHIM_DRIVER(cuGraphNodeGetDependencies_v2, node, room.nodes, data, room.count);
        });
    }
#endif
    return CUSHIM_DRIVER(cuGraphNodeGetDependencies_v1, node, room.nodes, room.count);
}

Result<void> dependents(CUgraphNode node, const NodeRoom &room) noexcept {
#if CUDA_VERSION >= 12030
    if (supports(driver_version(), Feature::graph_edge_data)) {
        return read_neighbours<CUgraphEdgeData>(room, [&](CUgraphEdgeData *data) noexcept {
            return CUSHIM_DRIVER(cuGraphNodeGetDependentNodes_v2, node, room.nodes, data,
                                 room.count);
        });
    }
#endif
    return CUSHIM_DRIVER(cuGraphNodeGetDependentNodes_v1, node, room.nodes, room.count);
}

Result<void> node_type(CUgraphNode node, GraphNodeType *type) noexcept {
    CUgraphNodeType native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphNodeGetType, node, &native));
    *type = static_cast<GraphNodeType>(native);
    return {};
}

template <class Native>
void read_kernel(const Native &from, KernelNodeParams *to) noexcept {
    to->function = from.func;
    to->grid = {from.gridDimX, from.gridDimY, from.gridDimZ};
    to->block = {from.blockDimX, from.blockDimY, from.blockDimZ};
    to->shared_bytes = from.sharedMemBytes;
}

// The older call knows of modules' kernels only, and is all that older drivers have.
Result<void> kernel_params(CUgraphNode node, KernelNodeParams *params) noexcept {
#if CUDA_VERSION >= 12000
    if (supports(driver_version(), Feature::graph_library_kernels)) {
        CUDA_KERNEL_NODE_PARAMS_v2 native{};
        CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphKernelNodeGetParams, node, &native));
        read_kernel(native, params);
        if (native.kern != nullptr) {
            params->function = reinterpret_cast<CUfunction>(native.kern);
        }
        return {};
    }
#endif
    CUDA_KERNEL_NODE_PARAMS_v1 native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphKernelNodeGetParams_v1, node, &native));
    read_kernel(native, params);
    return {};
}

unsigned long long address_of(CUmemorytype type, const void *host, CUdeviceptr device) noexcept {
    return type == CU_MEMORYTYPE_HOST ? reinterpret_cast<unsigned long long>(host) : device;
}

Result<void> memcpy_params(CUgraphNode node, MemcpyNodeParams *params) noexcept {
    CUDA_MEMCPY3D native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphMemcpyNodeGetParams, node, &native));
    const Extent extent{native.WidthInBytes, native.Height, native.Depth};
    params->to = {address_of(native.dstMemoryType, native.dstHost, native.dstDevice),
                  extent,
                  {native.dstPitch, native.dstHeight}};
    params->from = {address_of(native.srcMemoryType, native.srcHost, native.srcDevice),
                    extent,
                    {native.srcPitch, native.srcHeight}};
    return {};
}

Result<void> memset_params(CUgraphNode node, MemsetNodeParams *params) noexcept {
    CUDA_MEMSET_NODE_PARAMS native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphMemsetNodeGetParams, node, &native));
    params->to = {native.dst, {native.width, native.height, 1}, {native.pitch, native.height}};
    params->element_size = native.elementSize;
    params->value = native.value;
    return {};
}

Result<void> host_params(CUgraphNode node, HostNodeParams *params) noexcept {
    CUDA_HOST_NODE_PARAMS native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphHostNodeGetParams, node, &native));
    *params = {native.fn, native.userData};
    return {};
}

Result<void> event_record_event(CUgraphNode node, CUevent *event) noexcept {
    return CUSHIM_DRIVER(cuGraphEventRecordNodeGetEvent, node, event);
}

Result<void> event_wait_event(CUgraphNode node, CUevent *event) noexcept {
    return CUSHIM_DRIVER(cuGraphEventWaitNodeGetEvent, node, event);
}

Result<void> signal_params(CUgraphNode node, SemaphoreParams *params) noexcept {
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphExternalSemaphoresSignalNodeGetParams, node, &native));
    return read_semaphores(native, params);
}

Result<void> wait_params(CUgraphNode node, SemaphoreParams *params) noexcept {
    CUDA_EXT_SEM_WAIT_NODE_PARAMS native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphExternalSemaphoresWaitNodeGetParams, node, &native));
    return read_semaphores(native, params);
}

Result<void> batch_mem_op_params([[maybe_unused]] CUgraphNode node,
                                 [[maybe_unused]] BatchMemOpParams *params) noexcept {
#if CUDA_VERSION >= 11070
    CUDA_BATCH_MEM_OP_NODE_PARAMS native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphBatchMemOpNodeGetParams, node, &native));
    return with_memory([&]() -> Result<void> {
        params->assign(native.paramArray, native.paramArray + native.count); // the node's
        return {};
    });
#else
    return Error::requires_newer_headers("cuGraphBatchMemOpNodeGetParams", Version::of(11, 7));
#endif
}

Result<void> mem_alloc_params(CUgraphNode node, MemAllocNodeParams *params) noexcept {
    CUDA_MEM_ALLOC_NODE_PARAMS native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphMemAllocNodeGetParams, node, &native));
    *params = {native.dptr, native.bytesize, native.poolProps.location.id};
    return {};
}

Result<void> mem_free_ptr(CUgraphNode node, CUdeviceptr *address) noexcept {
    return CUSHIM_DRIVER(cuGraphMemFreeNodeGetParams, node, address);
}

Result<void> child_graph(CUgraphNode node, CUgraph *graph) noexcept {
    return CUSHIM_DRIVER(cuGraphChildGraphNodeGetGraph, node, graph);
}

Result<void> conditional_params([[maybe_unused]] CUgraphNode node,
                                [[maybe_unused]] NativeConditional *params) noexcept {
#if CUDA_VERSION >= 13020
    CUgraphNodeParams native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphNodeGetParams, node, &native));
    const CUDA_CONDITIONAL_NODE_PARAMS &found = native.conditional;
    *params = {static_cast<GraphConditionalType>(found.type),
               found.handle,
               {found.phGraph_out, found.size}};
    return {};
#else
    return Error::requires_newer_headers("cuGraphNodeGetParams", Version::of(13, 2));
#endif
}

Result<void> debug_dot(CUgraph graph, const char *path, unsigned int flags) noexcept {
    return CUSHIM_DRIVER(cuGraphDebugDotPrint, graph, path, flags);
}

} // namespace

const GraphReading driver_reading = {
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
};

} // namespace cushim::detail
