// Definitions for the runtime API, with the signatures of the headers' major version: the same
// names as driver.hpp.
#pragma once

#include <cushim/feature.hpp>
#include <cushim/loader.hpp>

#include <algorithm>
#include <bit>

#include "base/runtime_call.hpp"
#include "called.hpp"
#include "context/requirements.hpp"
#include "graph/api.hpp"
#include "kernel/launch_config.hpp"

#define CUSHIM_EITHER(driver, runtime) runtime
#define CUSHIM_GRAPH_API ::cushim::Api::runtime
#define CUSHIM_GRAPH_HEADERS CUDART_VERSION

#define CUSHIM_GRAPH(function, ...) CUSHIM_RUNTIME(cuda##function, __VA_ARGS__)
#define CUSHIM_GRAPH_CALL(function, ...)                                                           \
    ::cushim::detail::called<::cushim::entry::cuda##function, ::cushim::Version>(                  \
        ::cushim::runtime().cuda##function(__VA_ARGS__))
#define CUSHIM_GRAPH_NAME(function) "cuda" #function
#define CUSHIM_GRAPH_NEEDS(feature, function, ...)                                                 \
    CUSHIM_RUNTIME_NEEDS(feature, cuda##function, __VA_ARGS__)
#define CUSHIM_GRAPH_DESTROY(function, handle)                                                     \
    CUSHIM_RUNTIME_DESTROY(cuda##function, handle, handle)
#define CUSHIM_AND_CONTEXT(context)

// CUDA 13 renamed the functions with edge data to the names of those without.
#if CUDART_VERSION >= 13000
#define CUSHIM_PLAIN_EDGES(function, count, ...)                                                   \
    CUSHIM_RUNTIME(cuda##function, __VA_ARGS__, nullptr, count)
#define CUSHIM_DATA_EDGES(function, data, count, ...)                                              \
    CUSHIM_RUNTIME(cuda##function, __VA_ARGS__, data, count)
#else
#define CUSHIM_PLAIN_EDGES(function, count, ...) CUSHIM_RUNTIME(cuda##function, __VA_ARGS__, count)
#define CUSHIM_DATA_EDGES(function, data, count, ...)                                              \
    CUSHIM_RUNTIME_NEEDS(::cushim::Feature::graph_edge_data, cuda##function##_v2, __VA_ARGS__,     \
                         data, count)
#endif

namespace cushim::detail {
namespace {

// Without a current context, the runtime would initialize the primary one.
bool is_added_anywhere(const auto &) noexcept {
    return false;
}

// --- equal numbers and structs under other names

static_assert(int(cudaGraphNodeTypeKernel) == int(GraphNodeType::kernel));
static_assert(int(cudaGraphNodeTypeExtSemaphoreWait) == int(GraphNodeType::semaphore_wait));
static_assert(int(cudaGraphNodeTypeMemFree) == int(GraphNodeType::mem_free));
#if CUDART_VERSION >= 12030
static_assert(int(cudaGraphNodeTypeConditional) == int(GraphNodeType::conditional));
#endif
static_assert(int(cudaMemLocationTypeDevice) == int(CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(int(cudaMemAccessFlagsProtReadWrite) == int(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(int(cudaGraphDebugDotFlagsVerbose) == int(CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
static_assert(int(cudaGraphDebugDotFlagsHandles) == int(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES));
static_assert(int(cudaGraphExecUpdateErrorAttributesChanged) ==
              int(GraphUpdateResult::attributes_changed));
static_assert(int(cudaStreamCaptureModeRelaxed) == int(CaptureMode::relaxed));

template <class Runtime, class Driver>
constexpr bool same_operations =
    sizeof(Runtime) == sizeof(Driver) &&
    offsetof(Runtime, params.fence.value) == offsetof(Driver, params.fence.value) &&
    offsetof(Runtime, params.nvSciSync) == offsetof(Driver, params.nvSciSync) &&
    offsetof(Runtime, params.keyedMutex.key) == offsetof(Driver, params.keyedMutex.key) &&
    offsetof(Runtime, flags) == offsetof(Driver, flags);
static_assert(
    same_operations<cudaExternalSemaphoreSignalParams, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>);
static_assert(
    same_operations<cudaExternalSemaphoreWaitParams, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>);
static_assert(offsetof(cudaExternalSemaphoreWaitParams, params.keyedMutex.timeoutMs) ==
              offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.keyedMutex.timeoutMs));
static_assert(cudaExternalSemaphoreSignalSkipNvSciBufMemSync ==
              CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC);
static_assert(cudaExternalSemaphoreWaitSkipNvSciBufMemSync ==
              CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC);

// --- parameters

void *native_pointer(unsigned long long address) noexcept {
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
}

cudaMemAccessDesc native_grant(const AccessGrant &grant) noexcept {
    cudaMemAccessDesc native{};
    native.location.type = static_cast<cudaMemLocationType>(grant.native().location.type);
    native.location.id = grant.native().location.id;
    native.flags = static_cast<cudaMemAccessFlags>(grant.native().flags);
    return native;
}

// Without arrays, all widths are in bytes.
cudaPitchedPtr native_view(const PitchedView &view, std::size_t width) noexcept {
    return {native_pointer(view.address), view.pitch.row, width, view.pitch.layer};
}

cudaMemcpyKind native_kind(CopyKind kind) noexcept {
    switch (kind) {
    case CopyKind::host_to_device:
        return cudaMemcpyHostToDevice;
    case CopyKind::device_to_host:
        return cudaMemcpyDeviceToHost;
    case CopyKind::device_to_device:
        break;
    }
    return cudaMemcpyDefault; // on any devices
}

cudaMemcpy3DParms native_copy(const PitchedCopy &copy) noexcept {
    const Extent &extent = copy.to.extent;
    const std::size_t width = extent.width * copy.element.size;
    cudaMemcpy3DParms native; // each member is set once, which is shorter than clearing the struct
    native.srcArray = nullptr;
    native.srcPos = {0, 0, 0};
    native.srcPtr = native_view(copy.from, width);
    native.dstArray = nullptr;
    native.dstPos = {0, 0, 0};
    native.dstPtr = native_view(copy.to, width);
    native.extent = {width, extent.height, extent.depth};
    native.kind = native_kind(copy.kind);
    return native;
}

// --- kernels: since CUDA 12, a runtime kernel is also the driver's CUkernel

#if CUDART_VERSION >= 12000
inline bool accepts_kernel(const KernelNode &node) noexcept {
    return node.kernel.is_of_library();
}
static_assert(int(cudaLaunchAttributePriority) == int(CU_LAUNCH_ATTRIBUTE_PRIORITY));
static_assert(int(cudaLaunchAttributeCooperative) == int(CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
static_assert(int(cudaLaunchAttributeClusterDimension) ==
              int(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));

Result<void> require_kernel(const KernelNode &node) noexcept {
    if (!accepts_kernel(node)) {
        return Error::unsupported_platform("the runtime API does not support nodes with kernels of "
                                           "a Module; load a Library, or use a graph of the "
                                           "driver API");
    }
    return {};
}

cudaKernelNodeParams native_kernel(const KernelNode &node) noexcept {
    const LaunchSizes sizes = native_sizes(node.config); // already checked
    cudaKernelNodeParams native{};
    native.func = node.kernel.native();
    native.gridDim = {sizes.grid.x, sizes.grid.y, sizes.grid.z};
    native.blockDim = {sizes.block.x, sizes.block.y, sizes.block.z};
    native.sharedMemBytes = sizes.shared_bytes;
    native.kernelParams = node.arguments;
    return native;
}

cudaError_t add_kernel(const NodePlace &place, const KernelNode &kernel) noexcept {
    const auto native = native_kernel(kernel);
    return runtime().cudaGraphAddKernelNode(place.node, place.graph, place.dependencies,
                                            place.count, &native);
}

Result<void> added_kernel(cudaError_t status, const KernelNode &) noexcept {
    return called<entry::cudaGraphAddKernelNode, Version>(status);
}

Result<void> set_kernel(CUgraphNode node, const KernelNode &kernel, CUcontext) noexcept {
    const auto native = native_kernel(kernel);
    return CUSHIM_RUNTIME(cudaGraphKernelNodeSetParams, node, &native);
}

Result<void> exec_set_kernel(CUgraphExec exec, CUgraphNode node, const KernelNode &kernel,
                             CUcontext) noexcept {
    const auto native = native_kernel(kernel);
    return CUSHIM_RUNTIME(cudaGraphExecKernelNodeSetParams, exec, node, &native);
}
#else
#define CUSHIM_GRAPH_LACKS_KERNELS
Error lacks_kernels() noexcept {
    return Error::unsupported_platform(
        "the runtime API before CUDA 12 does not support nodes with loaded kernels; use a graph of "
        "the driver API");
}
#endif

// Through the driver. Recorded: libcudart returns 98 for kernels that the driver loaded, although
// it launches them. For its own kernels it returns host functions, which driver calls cannot use.
Result<void> kernel_params(CUgraphNode node, KernelNodeParams *params) noexcept {
    return driver_graphs.read.kernel_params(node, params);
}

// Through the driver: libcudart returns 999 for copies between unified addresses that driver
// functions added.
Result<void> memcpy_params(CUgraphNode node, MemcpyNodeParams *params) noexcept {
    return driver_graphs.read.memcpy_params(node, params);
}

// --- memory operations: such nodes exist if driver functions added them or were called on a
// capturing stream

#define CUSHIM_GRAPH_LACKS_BATCH_MEM_OPS
Error lacks_batch_mem_ops(const char *) noexcept {
    return Error::unsupported_platform("the runtime API does not support nodes of memory "
                                       "operations; use a graph of the driver API");
}

// --- nodes of the generic function

// Uses the current context.
Result<void> create_condition([[maybe_unused]] CUgraph graph, CUcontext,
                              [[maybe_unused]] unsigned int initial,
                              [[maybe_unused]] bool assign_initial,
                              [[maybe_unused]] unsigned long long *handle) noexcept {
    constexpr const char *name = "cudaGraphConditionalHandleCreate";
#if CUDART_VERSION >= 12030
    // libcudart may not report that the driver is the reason.
    CUSHIM_TRY_VOID(require_feature(Feature::graph_conditional_nodes, name));
    cudaGraphConditionalHandle made = 0;
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphConditionalHandleCreate, &made, graph, initial,
                                   assign_initial ? cudaGraphCondAssignDefault : 0));
    *handle = made;
    return {};
#else
    return Error::requires_newer_headers(name, Version::of(12, 3));
#endif
}

#if CUDART_VERSION >= 12030
void set_context(cudaConditionalNodeParams &, CUcontext) noexcept {}
#endif

// Through the driver: its struct has only handles and numbers, which are the same in both APIs.
Result<void> conditional_params(CUgraphNode node, NativeConditional *params) noexcept {
    return driver_graphs.read.conditional_params(node, params);
}

Result<void> add_raw([[maybe_unused]] const NodePlace &place,
                     [[maybe_unused]] void *parameters) noexcept {
#if CUDART_VERSION >= 13000
    return CUSHIM_RUNTIME(cudaGraphAddNode, place.node, place.graph, place.dependencies, nullptr,
                          place.count, static_cast<cudaGraphNodeParams *>(parameters));
#elif CUDART_VERSION >= 12020
    return CUSHIM_RUNTIME_NEEDS(Feature::graph_generic_nodes, cudaGraphAddNode, place.node,
                                place.graph, place.dependencies, place.count,
                                static_cast<cudaGraphNodeParams *>(parameters));
#else
    return Error::requires_newer_headers("cudaGraphAddNode", Version::of(12, 2));
#endif
}

// --- edges

// The call without edge data fails if an edge has data. Drivers before 12.3 have only this one.
[[maybe_unused]] bool reads_edge_data() noexcept {
    return CUDART_VERSION >= 13000 || supports(driver_version(), Feature::graph_edge_data);
}

// --- executable graphs

constexpr const char *device_launch_flag = "cudaGraphInstantiateFlagDeviceLaunch";
constexpr const char *use_node_priority_flag = "cudaGraphInstantiateFlagUseNodePriority";

constexpr bool headers_first = true;

#if CUDART_VERSION >= 12000
static_assert(int(cudaGraphInstantiateFlagDeviceLaunch) == 4);
static_assert(int(cudaGraphInstantiateFlagUseNodePriority) == 8);
static_assert(int(cudaGraphInstantiateMultipleDevicesNotSupported) ==
              int(InstantiateResult::multiple_contexts));

Result<void> require_headers(const InstantiateOptions &) noexcept {
    return {};
}

bool instantiates_with_params(const InstantiateOptions &) noexcept {
    return true;
}
#else
// Options that libcudart of CUDA 11 lacks, whatever the driver.
Result<void> require_headers(const InstantiateOptions &options) noexcept {
    if (options.upload != nullptr) {
        return Error::requires_newer_headers("cudaGraphInstantiateWithParams", Version::of(12, 0));
    }
    if (options.device_launch) {
        return Error::requires_newer_headers(device_launch_flag, Version::of(12, 0));
    }
    if (CUDART_VERSION < 11070 && options.use_node_priority) {
        return Error::requires_newer_headers(use_node_priority_flag, Version::of(11, 7));
    }
    return {};
}
#endif

// In CUDA 11, one function has flags and the other reports the node.
Result<void> instantiate_plainly(CUgraphExec *exec, CUgraph graph, unsigned long long flags,
                                 [[maybe_unused]] NativeInstantiateFailure *failure) noexcept {
#if CUDART_VERSION < 12000
    if (flags == 0) {
        return CUSHIM_RUNTIME(cudaGraphInstantiate, exec, graph, &failure->node, nullptr, 0);
    }
#endif
    return CUSHIM_RUNTIME(cudaGraphInstantiateWithFlags, exec, graph, flags);
}

#if CUDART_VERSION >= 12000
cudaError_t call_update(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept {
    cudaGraphExecUpdateResultInfo info{};
    const cudaError_t status = runtime().cudaGraphExecUpdate(exec, graph, &info);
    *update = {static_cast<GraphUpdateResult>(info.result), info.errorNode, info.errorFromNode};
    return status;
}
#else
cudaError_t call_update(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept {
    cudaGraphExecUpdateResult result{};
    const cudaError_t status = runtime().cudaGraphExecUpdate(exec, graph, &update->node, &result);
    update->result = static_cast<GraphUpdateResult>(result);
    return status;
}
#endif

// A rejected update is not an error here, so the caller's next cudaGetLastError() must not return
// it.
Result<void> forget_refusal() noexcept {
    const cudaError_t last = runtime().cudaGetLastError();
    return last == cudaErrorGraphExecUpdateFailure ? Result<void>()
                                                   : checked(last, entry::cudaGetLastError::name);
}

// CUDA rejects an update with cudaErrorGraphExecUpdateFailure and the result.
Result<void> update(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept {
    const cudaError_t status = call_update(exec, graph, update);
    if (status == cudaErrorGraphExecUpdateFailure && update->result != GraphUpdateResult::success) {
        return forget_refusal();
    }
    return checked(status, entry::cudaGraphExecUpdate::name);
}

} // namespace
} // namespace cushim::detail
