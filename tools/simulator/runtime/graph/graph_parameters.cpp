#include "runtime/graph/graph_parameters.hpp"
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/kernel/symbol.hpp"
#include "runtime/memory/copy_parameters.hpp"
#include "runtime/memory/external_parameters.hpp"

namespace sim::runtime {

DriverKernelNode kernel_node(const cudaKernelNodeParams *given) {
    require(given != nullptr);
    DriverKernelNode node{};
#if CUDART_VERSION >= 12000
    node.kern = kernel_of(given->func);
    node.ctx = current_context();
#else
    node.func = function_of(given->func);
#endif
    node.gridDimX = given->gridDim.x;
    node.gridDimY = given->gridDim.y;
    node.gridDimZ = given->gridDim.z;
    node.blockDimX = given->blockDim.x;
    node.blockDimY = given->blockDim.y;
    node.blockDimZ = given->blockDim.z;
    node.sharedMemBytes = given->sharedMemBytes;
    node.kernelParams = given->kernelParams;
    node.extra = given->extra;
    return node;
}

cudaKernelNodeParams shown(const DriverKernelNode &node) {
    cudaKernelNodeParams seen{};
#if CUDART_VERSION >= 12000
    seen.func = node.kern ? static_cast<void *>(node.kern) : static_cast<void *>(node.func);
#else
    seen.func = node.func;
#endif
    seen.gridDim = {node.gridDimX, node.gridDimY, node.gridDimZ};
    seen.blockDim = {node.blockDimX, node.blockDimY, node.blockDimZ};
    seen.sharedMemBytes = node.sharedMemBytes;
    seen.kernelParams = node.kernelParams;
    seen.extra = node.extra;
    return seen;
}

CUDA_MEMSET_NODE_PARAMS memset_node(const cudaMemsetParams *given) {
    require(given != nullptr);
    CUDA_MEMSET_NODE_PARAMS node{};
    node.dst = address(given->dst);
    node.pitch = given->pitch;
    node.value = given->value;
    node.elementSize = given->elementSize;
    node.width = given->width;
    node.height = given->height;
    return node;
}

cudaMemsetParams shown(const CUDA_MEMSET_NODE_PARAMS &node) {
    cudaMemsetParams seen{};
    seen.dst = pointer(node.dst);
    seen.pitch = node.pitch;
    seen.value = node.value;
    seen.elementSize = node.elementSize;
    seen.width = node.width;
    seen.height = node.height;
    return seen;
}

CUDA_HOST_NODE_PARAMS host_node(const cudaHostNodeParams *given) {
    require(given != nullptr);
    CUDA_HOST_NODE_PARAMS node{};
    node.fn = given->fn;
    node.userData = given->userData;
    return node;
}

SignalNode::SignalNode(const cudaExternalSemaphoreSignalNodeParams *given) {
    require(given != nullptr && (given->paramsArray != nullptr || given->numExtSems == 0));
    signals_ = signals_of(given->paramsArray, given->numExtSems);
    node_.extSemArray = const_cast<CUexternalSemaphore *>(semaphores_of(given->extSemArray));
    node_.paramsArray = signals_.data();
    node_.numExtSems = given->numExtSems;
}

WaitNode::WaitNode(const cudaExternalSemaphoreWaitNodeParams *given) {
    require(given != nullptr && (given->paramsArray != nullptr || given->numExtSems == 0));
    waits_ = waits_of(given->paramsArray, given->numExtSems);
    node_.extSemArray = const_cast<CUexternalSemaphore *>(semaphores_of(given->extSemArray));
    node_.paramsArray = waits_.data();
    node_.numExtSems = given->numExtSems;
}

CUDA_MEMCPY3D row_of_bytes(void *destination, const void *source, size_t count,
                           cudaMemcpyKind kind) {
    const Ends ends = ends_of(kind);
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
