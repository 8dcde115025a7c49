// Definitions for the driver API. driver.cpp compiles graph.hpp with this header, and
// runtime.cpp with runtime.hpp, which defines the same names.
#pragma once

#include <cushim/feature.hpp>
#include <cushim/loader.hpp>

#include <algorithm>

#include "base/call.hpp"
#include "called.hpp"
#include "context/requirements.hpp"
#include "graph/api.hpp"
#include "graph/kernel_nodes.hpp"
#include "kernel/launch_config.hpp"
#include "memory/pitched_copy.hpp"

// A type or constant, by its name in the driver's and in the runtime's headers.
#define CUSHIM_EITHER(driver, runtime) driver
#define CUSHIM_GRAPH_API ::cushim::Api::driver
// The version of the headers.
#define CUSHIM_GRAPH_HEADERS CUDA_VERSION

// One call. CUSHIM_GRAPH(GraphLaunch, ...) calls cuGraphLaunch.
#define CUSHIM_GRAPH(function, ...) CUSHIM_DRIVER(cu##function, __VA_ARGS__)
// The same, as a Called.
#define CUSHIM_GRAPH_CALL(function, ...) CUSHIM_CALL(cu##function, __VA_ARGS__)
#define CUSHIM_CALL(function, ...)                                                                 \
    ::cushim::detail::called<::cushim::entry::function, int>(                                      \
        ::cushim::driver().function(__VA_ARGS__))
#define CUSHIM_GRAPH_NAME(function) "cu" #function
// A call that every libcudart of the major version has, but that the driver may lack.
#define CUSHIM_GRAPH_NEEDS(feature, function, ...) CUSHIM_DRIVER(cu##function, __VA_ARGS__)
#define CUSHIM_GRAPH_DESTROY(function, handle) CUSHIM_DESTROY(cu##function, handle, handle)
// An argument for the context, which only few driver functions have.
#define CUSHIM_AND_CONTEXT(context) , context
// Functions with edges: without edge data and, since CUDA 12.3, with edge data.
#define CUSHIM_PLAIN_EDGES(function, count, ...)                                                   \
    CUSHIM_DRIVER(cu##function##_v1, __VA_ARGS__, count)
#define CUSHIM_DATA_EDGES(function, data, count, ...)                                              \
    CUSHIM_DRIVER(cu##function##_v2, __VA_ARGS__, data, count)

namespace cushim::detail {
namespace {

// --- parameters

CUdeviceptr native_pointer(unsigned long long address) noexcept {
    return address;
}

CUmemAccessDesc native_grant(const AccessGrant &grant) noexcept {
    return grant.native();
}

CUDA_MEMCPY3D native_copy(const PitchedCopy &copy) noexcept {
    return parameters_3d(copy);
}

// Whether such a node can be added without a current context (recordings/README.md).
template <class Node>
bool is_added_anywhere(const Node &) noexcept {
    return std::is_same_v<Node, EmptyNode> || std::is_same_v<Node, Fill> ||
           std::is_same_v<Node, PitchedFill> || std::is_same_v<Node, Copy> ||
           std::is_same_v<Node, PitchedCopy> || std::is_same_v<Node, HostNode> ||
           std::is_same_v<Node, EventRecordNode> || std::is_same_v<Node, EventWaitNode>;
}
template <>
[[gnu::always_inline]] inline bool is_added_anywhere(const KernelNode &node) noexcept {
    return node.kernel.is_of_library() && !asks_for_attributes(node.config);
}

// --- kernels: the older struct for kernels of modules, the newer one for kernels of libraries

inline bool accepts_kernel(const KernelNode &) noexcept {
    return true;
}
Result<void> require_kernel(const KernelNode &) noexcept {
    return {};
}

template <class Native>
Native native_kernel(const KernelNode &node) noexcept {
    const LaunchSizes sizes = native_sizes(node.config); // already checked
    Native native;                                       // {} would also clear the padding
    native.func = nullptr;
    native.gridDimX = sizes.grid.x;
    native.gridDimY = sizes.grid.y;
    native.gridDimZ = sizes.grid.z;
    native.blockDimX = sizes.block.x;
    native.blockDimY = sizes.block.y;
    native.blockDimZ = sizes.block.z;
    native.sharedMemBytes = sizes.shared_bytes;
    native.kernelParams = node.arguments;
    native.extra = nullptr;
    return native;
}

CUDA_KERNEL_NODE_PARAMS_v1 module_kernel(const KernelNode &node) noexcept {
    auto native = native_kernel<CUDA_KERNEL_NODE_PARAMS_v1>(node);
    native.func = node.kernel.native();
    return native;
}

#if CUDA_VERSION >= 12000
CUDA_KERNEL_NODE_PARAMS_v2 library_kernel(const KernelNode &node, CUcontext context) noexcept {
    auto native = native_kernel<CUDA_KERNEL_NODE_PARAMS_v2>(node);
    native.kern = reinterpret_cast<CUkernel>(node.kernel.native());
    native.ctx = context;
    return native;
}
#endif

[[gnu::always_inline]] inline CUresult add_module_kernel(const NodePlace &place,
                                                         const KernelNode &kernel) noexcept {
    const auto native = module_kernel(kernel);
    return driver().cuGraphAddKernelNode_v1(place.node, place.graph, place.dependencies,
                                            place.count, &native);
}
#if CUDA_VERSION >= 12000
[[gnu::always_inline]] inline CUresult add_library_kernel(const NodePlace &place,
                                                          const KernelNode &kernel) noexcept {
    const auto native = library_kernel(kernel, place.context);
    return driver().cuGraphAddKernelNode(place.node, place.graph, place.dependencies, place.count,
                                         &native);
}
#else
constexpr auto add_library_kernel = add_module_kernel; // no kernel is of a library
#endif
[[gnu::always_inline]] inline CUresult add_kernel(const NodePlace &place,
                                                  const KernelNode &kernel) noexcept {
    return kernel.kernel.is_of_library() ? add_library_kernel(place, kernel)
                                         : add_module_kernel(place, kernel);
}

// The result of a call of add_kernel().
Result<void> added_kernel(CUresult status, [[maybe_unused]] const KernelNode &kernel) noexcept {
#if CUDA_VERSION >= 12000
    if (kernel.kernel.is_of_library()) {
        return called<entry::cuGraphAddKernelNode, int>(status);
    }
#endif
    return called<entry::cuGraphAddKernelNode_v1, int>(status);
}

// The kernel determines the function of each struct.
#if CUDA_VERSION >= 12000
#define CUSHIM_KERNEL_CALL(function, kernel, context, ...)                                         \
    if ((kernel).kernel.is_of_library()) {                                                         \
        const auto native = library_kernel(kernel, context);                                       \
        return CUSHIM_DRIVER(function, __VA_ARGS__, &native);                                      \
    }                                                                                              \
    const auto native = module_kernel(kernel);                                                     \
    return CUSHIM_DRIVER(function##_v1, __VA_ARGS__, &native)
#else
#define CUSHIM_KERNEL_CALL(function, kernel, context, ...)                                         \
    const auto native = module_kernel(kernel);                                                     \
    return CUSHIM_DRIVER(function##_v1, __VA_ARGS__, &native)
#endif

Result<void> set_kernel(CUgraphNode node, const KernelNode &kernel,
                        [[maybe_unused]] CUcontext context) noexcept {
    CUSHIM_KERNEL_CALL(cuGraphKernelNodeSetParams, kernel, context, node);
}

Result<void> exec_set_kernel(CUgraphExec exec, CUgraphNode node, const KernelNode &kernel,
                             [[maybe_unused]] CUcontext context) noexcept {
    CUSHIM_KERNEL_CALL(cuGraphExecKernelNodeSetParams, kernel, context, exec, node);
}

#undef CUSHIM_KERNEL_CALL

template <class Native>
void read_kernel(const Native &from, KernelNodeParams *to) noexcept {
    to->function = from.func;
    to->grid = {from.gridDimX, from.gridDimY, from.gridDimZ};
    to->block = {from.blockDimX, from.blockDimY, from.blockDimZ};
    to->shared_bytes = from.sharedMemBytes;
}

// The older call supports only kernels of modules, and is the only one in older drivers.
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

// --- copies

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

// --- memory operations

#if CUDA_VERSION < 11070
#define CUSHIM_GRAPH_LACKS_BATCH_MEM_OPS
Error lacks_batch_mem_ops(const char *entry_point) noexcept {
    return Error::requires_newer_headers(entry_point, Version::of(11, 7));
}
#endif

// --- nodes of the generic function

Result<void> create_condition([[maybe_unused]] CUgraph graph, [[maybe_unused]] CUcontext context,
                              [[maybe_unused]] unsigned int initial,
                              [[maybe_unused]] bool assign_initial,
                              [[maybe_unused]] unsigned long long *handle) noexcept {
#if CUDA_VERSION >= 12030
    CUgraphConditionalHandle made = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphConditionalHandleCreate, &made, graph, context, initial,
                                  assign_initial ? CU_GRAPH_COND_ASSIGN_DEFAULT : 0));
    *handle = made;
    return {};
#else
    return Error::requires_newer_headers("cuGraphConditionalHandleCreate", Version::of(12, 3));
#endif
}

#if CUDA_VERSION >= 12030
void set_context(CUDA_CONDITIONAL_NODE_PARAMS &parameters, CUcontext context) noexcept {
    parameters.ctx = context;
}
#endif

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

Result<void> add_raw([[maybe_unused]] const NodePlace &place,
                     [[maybe_unused]] void *parameters) noexcept {
#if CUDA_VERSION >= 12020
    return CUSHIM_DRIVER(cuGraphAddNode_v1, place.node, place.graph, place.dependencies,
                         place.count, static_cast<CUgraphNodeParams *>(parameters));
#else
    return Error::requires_newer_headers("cuGraphAddNode", Version::of(12, 2));
#endif
}

// --- edges

// The older call fails for graphs with edge data, and is the only one in older drivers.
[[maybe_unused]] bool reads_edge_data() noexcept {
    return supports(driver_version(), Feature::graph_edge_data);
}

// --- executable graphs

constexpr const char *device_launch_flag = "CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH";
constexpr const char *use_node_priority_flag = "CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY";

// For calls missing from these headers. A missing driver function is reported first.
constexpr bool headers_first = false;
Result<void> require_headers([[maybe_unused]] const InstantiateOptions &options) noexcept {
#if CUDA_VERSION < 12000
    if (options.upload != nullptr) {
        return Error::requires_newer_headers("cuGraphInstantiateWithParams", Version::of(12, 0));
    }
#endif
    return {};
}

// The newer call reports why it fails and is the only one that uploads.
[[maybe_unused]] bool instantiates_with_params(const InstantiateOptions &options) noexcept {
    return options.upload != nullptr ||
           supports(driver_version(), Feature::graph_instantiate_params);
}

// In CUDA 11, one function has flags and the other reports the node.
Result<void> instantiate_plainly(CUgraphExec *exec, CUgraph graph, unsigned long long flags,
                                 NativeInstantiateFailure *failure) noexcept {
    if (flags != 0) {
        return CUSHIM_DRIVER(cuGraphInstantiateWithFlags, exec, graph, flags);
    }
    return CUSHIM_DRIVER(cuGraphInstantiate_v2, exec, graph, &failure->node, nullptr, 0);
}

// CUDA rejects an update with CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE and the result.
Result<void> refused_or(CUresult status, const char *entry_point, int introduced,
                        GraphUpdateResult result) noexcept {
    if (status == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE && result != GraphUpdateResult::success) {
        return {};
    }
    return checked(status, entry_point, introduced);
}

Result<void> update(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept {
#if CUDA_VERSION >= 12000
    if (supports(driver_version(), Feature::graph_update_2)) {
        CUgraphExecUpdateResultInfo info{};
        const CUresult status = driver().cuGraphExecUpdate_v2(exec, graph, &info);
        *update = {static_cast<GraphUpdateResult>(info.result), info.errorNode, info.errorFromNode};
        return refused_or(status, entry::cuGraphExecUpdate_v2::name,
                          entry::cuGraphExecUpdate_v2::introduced, update->result);
    }
#endif
    CUgraphExecUpdateResult result{};
    const CUresult status = driver().cuGraphExecUpdate_v1(exec, graph, &update->node, &result);
    update->result = static_cast<GraphUpdateResult>(result);
    return refused_or(status, entry::cuGraphExecUpdate_v1::name,
                      entry::cuGraphExecUpdate_v1::introduced, update->result);
}

} // namespace
} // namespace cushim::detail
