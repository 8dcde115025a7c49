#include "runtime/graph/graph_parameters.hpp"
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/base/registration.hpp"
#include "runtime/kernel/symbol.hpp"
#include "runtime/memory/copy_parameters.hpp"
#include "runtime/memory/external_parameters.hpp"

namespace sim::runtime {
namespace {

template <class Given>
CUcontext context_for([[maybe_unused]] const Given &given) {
    if constexpr (requires { given.ctx; }) { // CUDA 13.1
        return context_of(given.ctx);
    } else {
        return current_context();
    }
}

template <class Node, class Given>
void choose_function(Node &node, const Given &given) {
#if CUDART_VERSION >= 13020
    if constexpr (requires { given.functionType; }) {
        if (given.functionType == cudaKernelFunctionTypeFunction) {
            node.func = given.cuFunc;
            return;
        }
    }
#endif
    if constexpr (requires { node.kern; }) { // CUDA 12
        node.kern = kernel_of(given.func);
    } else {
        node.func = function_of(given.func);
    }
}

// Each of these for all versions of its structures.

template <class Node, class Given>
void convert_kernel(Node &node, const Given &given) {
    choose_function(node, given);
    if constexpr (requires { node.ctx; }) { // CUDA 12
        node.ctx = context_for(given);
    }
    node.gridDimX = given.gridDim.x;
    node.gridDimY = given.gridDim.y;
    node.gridDimZ = given.gridDim.z;
    node.blockDimX = given.blockDim.x;
    node.blockDimY = given.blockDim.y;
    node.blockDimZ = given.blockDim.z;
    node.sharedMemBytes = given.sharedMemBytes;
    node.kernelParams = given.kernelParams;
    node.extra = given.extra;
}

template <class Node, class Given>
void convert_memset(Node &node, const Given &given) {
    node.dst = address(given.dst);
    node.pitch = given.pitch;
    node.value = given.value;
    node.elementSize = given.elementSize;
    node.width = given.width;
    node.height = given.height;
    if constexpr (requires { node.ctx; }) {
        node.ctx = context_for(given);
    }
}

template <class Node, class Given>
void convert_host(Node &node, const Given &given) {
    node.fn = given.fn;
    node.userData = given.userData;
    if constexpr (requires { given.syncMode; }) { // CUDA 13.2
        node.syncMode = given.syncMode;
    }
}

template <class Node, class Given>
void convert_semaphores(Node &node, const Given &given, auto &list) {
    node.extSemArray = const_cast<CUexternalSemaphore *>(semaphores_of(given.extSemArray));
    node.paramsArray = list.data();
    node.numExtSems = given.numExtSems;
}

template <class Node, class Given>
void convert_signals(Node &node, const Given &given, Lists &lists) {
    require(given.paramsArray != nullptr || given.numExtSems == 0);
    lists.signals = signals_of(given.paramsArray, given.numExtSems);
    convert_semaphores(node, given, lists.signals);
}

template <class Node, class Given>
void convert_waits(Node &node, const Given &given, Lists &lists) {
    require(given.paramsArray != nullptr || given.numExtSems == 0);
    lists.waits = waits_of(given.paramsArray, given.numExtSems);
    convert_semaphores(node, given, lists.waits);
}

} // namespace

#if CUDART_VERSION >= 13010
CUcontext context_of(cudaExecutionContext_t given) {
    if (given == nullptr) {
        return current_context();
    }
    CUcontext context = nullptr;
    demand(CU(cuCtxFromGreenCtx)(&context, reinterpret_cast<CUgreenCtx>(given)));
    return context;
}
#endif

void to_driver(DriverKernelNode &node, const cudaKernelNodeParams &given, Lists &) {
    convert_kernel(node, given);
}

void to_driver(CUDA_MEMCPY3D &node, const cudaMemcpy3DParms &given, Lists &) {
    node = copy_of(&given);
}

void to_driver(CUDA_MEMSET_NODE_PARAMS &node, const cudaMemsetParams &given, Lists &) {
    convert_memset(node, given);
}

void to_driver(CUDA_HOST_NODE_PARAMS &node, const cudaHostNodeParams &given, Lists &) {
    convert_host(node, given);
}

void to_driver(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS &node,
               const cudaExternalSemaphoreSignalNodeParams &given, Lists &lists) {
    convert_signals(node, given, lists);
}

void to_driver(CUDA_EXT_SEM_WAIT_NODE_PARAMS &node,
               const cudaExternalSemaphoreWaitNodeParams &given, Lists &lists) {
    convert_waits(node, given, lists);
}

// Recorded with driver 580: kernels are identified by host functions, so a library kernel fails.
void to_runtime(cudaKernelNodeParams &out, const DriverKernelNode &node) {
    CUfunction function = node.func;
#if CUDART_VERSION >= 12000
    if (node.kern != nullptr) {
        demand(CU(cuKernelGetFunction)(&function, node.kern));
    }
#endif
    void *host = const_cast<void *>(registered_host(function));
    require(host != nullptr, cudaErrorInvalidDeviceFunction);
    out = {};
    out.func = host;
    out.gridDim = {node.gridDimX, node.gridDimY, node.gridDimZ};
    out.blockDim = {node.blockDimX, node.blockDimY, node.blockDimZ};
    out.sharedMemBytes = node.sharedMemBytes;
    out.kernelParams = node.kernelParams;
    out.extra = node.extra;
}

void to_runtime(cudaMemcpy3DParms &out, const CUDA_MEMCPY3D &node) {
    out = parameters_of(node);
}

void to_runtime(cudaMemsetParams &out, const CUDA_MEMSET_NODE_PARAMS &node) {
    out = {};
    out.dst = pointer(node.dst);
    out.pitch = node.pitch;
    out.value = node.value;
    out.elementSize = node.elementSize;
    out.width = node.width;
    out.height = node.height;
}

void to_runtime(cudaHostNodeParams &out, const CUDA_HOST_NODE_PARAMS &node) {
    out.fn = node.fn;
    out.userData = node.userData;
}

#if CUDART_VERSION >= 12020
void to_driver(CUgraphNodeParams &node, const cudaGraphNodeParams &given, Lists &lists) {
    node.type = same<CUgraphNodeType>(given.type);
    switch (given.type) {
    case cudaGraphNodeTypeKernel:
        return convert_kernel(node.kernel, given.kernel);
    case cudaGraphNodeTypeMemcpy:
        node.memcpy.flags = given.memcpy.flags;
        node.memcpy.copyCtx = context_for(given.memcpy);
        node.memcpy.copyParams = copy_of(&given.memcpy.copyParams);
        return;
    case cudaGraphNodeTypeMemset:
        return convert_memset(node.memset, given.memset);
    case cudaGraphNodeTypeHost:
        return convert_host(node.host, given.host);
    case cudaGraphNodeTypeGraph:
        node.graph.graph = given.graph.graph;
#if CUDART_VERSION >= 12090
        node.graph.ownership = same<CUgraphChildGraphNodeOwnership>(given.graph.ownership);
#endif
        return;
    case cudaGraphNodeTypeEmpty:
        return;
    case cudaGraphNodeTypeWaitEvent:
        node.eventWait.event = given.eventWait.event;
        return;
    case cudaGraphNodeTypeEventRecord:
        node.eventRecord.event = given.eventRecord.event;
        return;
    case cudaGraphNodeTypeExtSemaphoreSignal:
        return convert_signals(node.extSemSignal, given.extSemSignal, lists);
    case cudaGraphNodeTypeExtSemaphoreWait:
        return convert_waits(node.extSemWait, given.extSemWait, lists);
    case cudaGraphNodeTypeMemAlloc:
        node.alloc = same_struct<CUDA_MEM_ALLOC_NODE_PARAMS_v2>(given.alloc);
        return;
    case cudaGraphNodeTypeMemFree:
        node.free.dptr = address(given.free.dptr);
        return;
#if CUDART_VERSION >= 12030
    case cudaGraphNodeTypeConditional:
        node.conditional.handle = given.conditional.handle;
        node.conditional.type = same<CUgraphConditionalNodeType>(given.conditional.type);
        node.conditional.size = given.conditional.size;
        node.conditional.ctx = context_for(given.conditional);
        return;
#endif
    default:
        fail(cudaErrorInvalidValue);
    }
}

void to_runtime(cudaGraphNodeParams &out, const CUgraphNodeParams &node) {
    if (out.type == cudaGraphNodeTypeMemAlloc) {
        out.alloc.dptr = pointer(node.alloc.dptr);
    }
#if CUDART_VERSION >= 12030
    if (out.type == cudaGraphNodeTypeConditional) {
        out.conditional.phGraph_out = node.conditional.phGraph_out;
    }
#endif
}
#endif

CUDA_MEMCPY3D row_of_bytes(void *destination, const void *source, size_t count,
                           cudaMemcpyKind kind) {
    const Ends ends = ends_of(kind);
    require(count != 0);
    return copy_between(linear(ends.destination, destination, count, 1),
                        linear(ends.source, source, count, 1), count, 1);
}

CUDA_MEMCPY3D to_symbol(const void *symbol, const void *source, size_t count, size_t offset,
                        cudaMemcpyKind kind) {
    const CUdeviceptr to = place_in(symbol, offset, count, kind, cudaMemcpyHostToDevice);
    return row_of_bytes(pointer(to), source, count, kind);
}

CUDA_MEMCPY3D from_symbol(void *destination, const void *symbol, size_t count, size_t offset,
                          cudaMemcpyKind kind) {
    const CUdeviceptr from = place_in(symbol, offset, count, kind, cudaMemcpyDeviceToHost);
    return row_of_bytes(destination, pointer(from), count, kind);
}

} // namespace sim::runtime
