// Reading graphs by the runtime API.
#include "common_calls.hpp"
#include "driver.hpp"
#include "runtime.hpp"
#include "semaphore_nodes.hpp"

#include <cushim/feature.hpp>
#include <cushim/loader.hpp>

namespace cushim::detail {
namespace {

Result<void> nodes(CUgraph graph, const NodeRoom &room) noexcept {
    return CUSHIM_RUNTIME(cudaGraphGetNodes, graph, room.nodes, room.count);
}

Result<void> root_nodes(CUgraph graph, const NodeRoom &room) noexcept {
    return CUSHIM_RUNTIME(cudaGraphGetRootNodes, graph, room.nodes, room.count);
}

// --- edges

struct EdgeReading {
    Result<void> (*edges)(CUgraph graph, const EdgeRoom &room) noexcept;
    Result<void> (*dependencies)(CUgraphNode node, const NodeRoom &room) noexcept;
    Result<void> (*dependents)(CUgraphNode node, const NodeRoom &room) noexcept;
};

#if CUDART_VERSION < 13000
// Does not answer where an edge has data, and is all that works with drivers before 12.3.
constexpr EdgeReading plain_edges = {
    .edges =
        [](CUgraph graph, const EdgeRoom &room) noexcept {
            return CUSHIM_RUNTIME(cudaGraphGetEdges, graph, room.from, room.to, room.count);
        },
    .dependencies =
        [](CUgraphNode node, const NodeRoom &room) noexcept {
            return CUSHIM_RUNTIME(cudaGraphNodeGetDependencies, node, room.nodes, room.count);
        },
    .dependents =
        [](CUgraphNode node, const NodeRoom &room) noexcept {
            return CUSHIM_RUNTIME(cudaGraphNodeGetDependentNodes, node, room.nodes, room.count);
        },
};
#endif

#if CUDART_VERSION >= 12030
using EdgeData = cudaGraphEdgeData;

constexpr EdgeReading edges_with_data = {
    .edges =
        [](CUgraph graph, const EdgeRoom &room) noexcept {
            return read_edges<EdgeData>(room, [&](EdgeData *data) noexcept {
                return CUSHIM_RUNTIME_EDGES(cudaGraphGetEdges, graph, room.from, room.to, data,
                                            room.count);
            });
        },
    .dependencies =
        [](CUgraphNode node, const NodeRoom &room) noexcept {
            return read_neighbours<EdgeData>(room, [&](EdgeData *data) noexcept {
                return CUSHIM_RUNTIME_EDGES(cudaGraphNodeGetDependencies, node, room.nodes, data,
                                            room.count);
            });
        },
    .dependents =
        [](CUgraphNode node, const NodeRoom &room) noexcept {
            return read_neighbours<EdgeData>(room, [&](EdgeData *data) noexcept {
                return CUSHIM_RUNTIME_EDGES(cudaGraphNodeGetDependentNodes, node, room.nodes, data,
                                            room.count);
            });
        },
};
#endif

const EdgeReading &edge_reading() noexcept {
#if CUDART_VERSION >= 13000
    return edges_with_data;
#elif CUDART_VERSION >= 12030
    return supports(driver_version(), Feature::graph_edge_data) ? edges_with_data : plain_edges;
#else
    return plain_edges;
#endif
}

Result<void> edges(CUgraph graph, const EdgeRoom &room) noexcept {
    return edge_reading().edges(graph, room);
}

Result<void> dependencies(CUgraphNode node, const NodeRoom &room) noexcept {
    return edge_reading().dependencies(node, room);
}

Result<void> dependents(CUgraphNode node, const NodeRoom &room) noexcept {
    return edge_reading().dependents(node, room);
}

// --- nodes

static_assert(int(cudaGraphNodeTypeKernel) == int(GraphNodeType::kernel));
static_assert(int(cudaGraphNodeTypeExtSemaphoreWait) == int(GraphNodeType::semaphore_wait));
static_assert(int(cudaGraphNodeTypeMemFree) == int(GraphNodeType::mem_free));
#if CUDART_VERSION >= 12030
static_assert(int(cudaGraphNodeTypeConditional) == int(GraphNodeType::conditional));
#endif

Result<void> node_type(CUgraphNode node, GraphNodeType *type) noexcept {
    cudaGraphNodeType native{};
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphNodeGetType, node, &native));
    *type = static_cast<GraphNodeType>(native);
    return {};
}

// The driver is asked. Measured: libcudart answers 98 for kernels that the driver loaded, though it launches them;
// and of those that it has itself it tells functions of the host, which no caller of the driver could use.
Result<void> kernel_params(CUgraphNode node, KernelNodeParams *params) noexcept {
    return driver_reading.kernel_params(node, params);
}

unsigned long long address_of(const void *pointer) noexcept {
    return reinterpret_cast<unsigned long long>(pointer);
}

// Likewise: it answers 999 for copies between unified addresses that the driver's functions added.
Result<void> memcpy_params(CUgraphNode node, MemcpyNodeParams *params) noexcept {
    return driver_reading.memcpy_params(node, params);
}

Result<void> memset_params(CUgraphNode node, MemsetNodeParams *params) noexcept {
    cudaMemsetParams native{};
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphMemsetNodeGetParams, node, &native));
    params->to = {
        address_of(native.dst), {native.width, native.height, 1}, {native.pitch, native.height}};
    params->element_size = native.elementSize;
    params->value = native.value;
    return {};
}

Result<void> host_params(CUgraphNode node, HostNodeParams *params) noexcept {
    cudaHostNodeParams native{};
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphHostNodeGetParams, node, &native));
    *params = {native.fn, native.userData};
    return {};
}

Result<void> event_record_event(CUgraphNode node, CUevent *event) noexcept {
    return CUSHIM_RUNTIME(cudaGraphEventRecordNodeGetEvent, node, event);
}

Result<void> event_wait_event(CUgraphNode node, CUevent *event) noexcept {
    return CUSHIM_RUNTIME(cudaGraphEventWaitNodeGetEvent, node, event);
}

Result<void> signal_params(CUgraphNode node, SemaphoreParams *params) noexcept {
    cudaExternalSemaphoreSignalNodeParams native{};
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphExternalSemaphoresSignalNodeGetParams, node, &native));
    return read_semaphores(native, params);
}

Result<void> wait_params(CUgraphNode node, SemaphoreParams *params) noexcept {
    cudaExternalSemaphoreWaitNodeParams native{};
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphExternalSemaphoresWaitNodeGetParams, node, &native));
    return read_semaphores(native, params);
}

// Such a node was captured from a stream that the driver's functions were called for, or added by these.
Result<void> batch_mem_op_params(CUgraphNode, BatchMemOpParams *) noexcept {
    return lacks_batch_mem_ops();
}

Result<void> mem_alloc_params(CUgraphNode node, MemAllocNodeParams *params) noexcept {
    cudaMemAllocNodeParams native{};
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphMemAllocNodeGetParams, node, &native));
    *params = {address_of(native.dptr), native.bytesize, native.poolProps.location.id};
    return {};
}

Result<void> mem_free_ptr(CUgraphNode node, CUdeviceptr *address) noexcept {
    void *pointer = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphMemFreeNodeGetParams, node, &pointer));
    *address = address_of(pointer);
    return {};
}

Result<void> child_graph(CUgraphNode node, CUgraph *graph) noexcept {
    return CUSHIM_RUNTIME(cudaGraphChildGraphNodeGetGraph, node, graph);
}

// The driver is asked: its struct has handles and numbers alone, which are those of both APIs.
Result<void> conditional_params(CUgraphNode node, NativeConditional *params) noexcept {
    return driver_reading.conditional_params(node, params);
}

static_assert(int(cudaGraphDebugDotFlagsVerbose) == int(CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
static_assert(int(cudaGraphDebugDotFlagsHandles) == int(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES));

Result<void> debug_dot(CUgraph graph, const char *path, unsigned int flags) noexcept {
    return CUSHIM_RUNTIME(cudaGraphDebugDotPrint, graph, path, flags);
}

} // namespace

const GraphReading runtime_reading = {
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
