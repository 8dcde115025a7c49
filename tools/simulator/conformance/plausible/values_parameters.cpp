// Structures that calls are passed, of the driver and of the runtime.
#include "../questions/parameters.hpp"
#include "values.hpp"

namespace record::plausible {

CUDA_KERNEL_NODE_PARAMS Values::launch() {
    return launch_of(function(), 1);
}

CUlaunchConfig Values::configuration() {
    auto of = launch_of<CUlaunchConfig>(1);
    of.hStream = stream();
    return of;
}

CUDA_MEMCPY2D Values::copy_2d() {
    return copy_of<CUDA_MEMCPY2D>(memory(), source(), small);
}

CUDA_MEMCPY3D Values::copy_3d() {
    return copy_of<CUDA_MEMCPY3D>(memory(), source(), small);
}

CUDA_MEMCPY3D_PEER Values::copy_between() {
    auto of = copy_of<CUDA_MEMCPY3D_PEER>(memory(), source(), small);
    of.srcContext = of.dstContext = context();
    return of;
}

CUDA_MEMCPY3D_BATCH_OP Values::batched_copy() {
    CUDA_MEMCPY3D_BATCH_OP of{.extent = {small, 1, 1},
                              .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    of.src.type = of.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    of.src.op.ptr.ptr = source();
    of.dst.op.ptr.ptr = memory();
    return of;
}

CUDA_MEMSET_NODE_PARAMS Values::fill() {
    return fill_of(memory(), 0, 1, small);
}

CUDA_HOST_NODE_PARAMS Values::host_call() const {
    return {.fn = do_nothing, .userData = nullptr};
}

CUDA_MEM_ALLOC_NODE_PARAMS Values::allocation(CUmemLocation at) {
    CUDA_MEM_ALLOC_NODE_PARAMS of{.bytesize = block};
    of.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    of.poolProps.location = at;
    return of;
}

CUstreamBatchMemOpParams Values::write_value() {
    CUstreamBatchMemOpParams of{};
    of.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    of.writeValue.address = memory();
    return of;
}

CUDA_BATCH_MEM_OP_NODE_PARAMS Values::write_values() {
    return {.ctx = context(), .count = 1, .paramArray = put(write_value()), .flags = 0};
}

CUDA_EXT_SEM_SIGNAL_NODE_PARAMS Values::signals() {
    return {.extSemArray = put(semaphore()),
            .paramsArray = put(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS{}),
            .numExtSems = 1};
}

CUDA_EXT_SEM_WAIT_NODE_PARAMS Values::waits() {
    return {.extSemArray = put(semaphore()),
            .paramsArray = put(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS{}),
            .numExtSems = 1};
}

CUgraphNodeParams Values::node_parameters() {
    CUgraphNodeParams of{};
    of.type = CU_GRAPH_NODE_TYPE_MEMSET;
    of.memset = {.dst = memory(), .elementSize = 1, .width = small, .height = 1, .ctx = context()};
    return of;
}

CUmemPoolPtrExportData Values::exported_pointer() {
    CUmemPoolPtrExportData of{};
    check(d.cuMemPoolExportPointer(&of, pool_memory()));
    return of;
}

const char *Values::bus_id() {
    char *name = static_cast<char *>(room());
    d.cuDeviceGetPCIBusId(name, 64, device_);
    return name;
}

cudaMemcpy3DParms Values::copy_of_runtime() {
    return {.srcPtr = {reinterpret_cast<void *>(source()), small, small, 1},
            .dstPtr = {reinterpret_cast<void *>(memory()), small, small, 1},
            .extent = {small, 1, 1},
            .kind = cudaMemcpyDeviceToDevice};
}

cudaMemcpy3DPeerParms Values::copy_between_of_runtime() {
    return {.srcPtr = {reinterpret_cast<void *>(source()), small, small, 1},
            .srcDevice = device_,
            .dstPtr = {reinterpret_cast<void *>(memory()), small, small, 1},
            .dstDevice = device_,
            .extent = {small, 1, 1}};
}

cudaMemcpy3DBatchOp Values::batched_copy_of_runtime() {
    cudaMemcpy3DBatchOp of{.extent = {small, 1, 1},
                           .srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    of.src.type = of.dst.type = cudaMemcpyOperandTypePointer;
    of.src.op.ptr.ptr = reinterpret_cast<void *>(source());
    of.dst.op.ptr.ptr = reinterpret_cast<void *>(memory());
    return of;
}

cudaMemsetParams Values::fill_of_runtime() {
    return {
        .dst = reinterpret_cast<void *>(memory()), .elementSize = 1, .width = small, .height = 1};
}

cudaKernelNodeParams Values::launch_of_runtime() {
    return {.func = function_of_runtime(), .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
}

cudaLaunchConfig_t Values::configuration_of_runtime() {
    return {.gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .stream = stream()};
}

cudaResourceDesc Values::of_array_of_runtime() {
    cudaResourceDesc of{.resType = cudaResourceTypeArray};
    of.res.array.array = reinterpret_cast<cudaArray_t>(array());
    return of;
}

cudaMemPoolProps Values::pool_properties_of_runtime(cudaMemLocation at) {
    return {.allocType = cudaMemAllocationTypePinned,
            .handleTypes = cudaMemHandleTypePosixFileDescriptor,
            .location = at};
}

cudaMemAllocNodeParams Values::allocation_of_runtime(cudaMemLocation at) {
    cudaMemAllocNodeParams of{.bytesize = block};
    of.poolProps.allocType = cudaMemAllocationTypePinned;
    of.poolProps.location = at;
    return of;
}

cudaGraphNodeParams Values::node_parameters_of_runtime() {
    cudaGraphNodeParams of{};
    of.type = cudaGraphNodeTypeMemset;
    of.memset.dst = reinterpret_cast<void *>(memory());
    of.memset.elementSize = 1;
    of.memset.width = small;
    of.memset.height = 1;
    return of;
}

cudaExternalMemoryHandleDesc Values::import_memory_of_runtime() {
    cudaExternalMemoryHandleDesc of{.type = cudaExternalMemoryHandleTypeOpaqueFd, .size = page};
    of.handle.fd = descriptor();
    return of;
}

cudaExternalSemaphoreHandleDesc Values::import_semaphore_of_runtime() {
    cudaExternalSemaphoreHandleDesc of{.type = cudaExternalSemaphoreHandleTypeOpaqueFd};
    of.handle.fd = descriptor();
    return of;
}

cudaExternalMemoryMipmappedArrayDesc Values::levels_of_runtime() const {
    return {.formatDesc = channel(),
            .extent = {width, height, 0},
            .flags = cudaArraySurfaceLoadStore,
            .numLevels = 1};
}

CUtensorMap Values::tensor_map() {
    CUtensorMap map{};
    const cuuint64_t sizes[] = {64, 64}, strides[] = {256};
    const cuuint32_t box[] = {16, 16}, steps[] = {1, 1};
    check(d.cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, reinterpret_cast<void *>(memory()), sizes,
        strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

} // namespace record::plausible
