// Copies of one row between addresses of any kind, devices and arrays.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "memory/copy.hpp"
#include "memory/virtual_memory.hpp"

namespace sim {
namespace {

constexpr CUmemorytype on_host = CU_MEMORYTYPE_HOST;
constexpr CUmemorytype on_device = CU_MEMORYTYPE_DEVICE;
constexpr CUmemorytype anywhere = CU_MEMORYTYPE_UNIFIED;

// Makes one side a row of an array, in place of the address from linear_copy().
CUDA_MEMCPY3D_PEER to_array(CUDA_MEMCPY3D_PEER copy, CUarray array, std::size_t offset) {
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.dstXInBytes = offset;
    return copy;
}

CUDA_MEMCPY3D_PEER from_array(CUDA_MEMCPY3D_PEER copy, CUarray array, std::size_t offset) {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.srcXInBytes = offset;
    return copy;
}

bool is_of_several_mappings(CUdeviceptr address, std::size_t size) {
    const Range *const range = AddressSpace::get().find(address);
    const Mapping *const mapping = range != nullptr ? mapping_at(address) : nullptr;
    return mapping != nullptr && size > mapping->offset + mapping->size - (address - range->base);
}

// Recorded: without a current context, such a copy fails if the range at `looked_at` extends into
// another mapping. That is the source; for cuMemcpyHtoDAsync, it is the destination.
CUresult copy_row_later(CUstream handle, const CUDA_MEMCPY3D_PEER &row, CUdeviceptr looked_at,
                        const char *what) {
    const Stream &stream = stream_of(handle);
    if (current_or_null() == nullptr && stream.capture == nullptr) {
        require(!is_of_several_mappings(looked_at, row.WidthInBytes),
                "Copy range not fully allocated");
    }
    return copy_later(handle, row, what);
}

} // namespace
} // namespace sim

namespace sim::driver {

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
    return copy_now(linear_copy(anywhere, dst, anywhere, src, ByteCount), "cuMemcpy");
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
    return copy_row_later(hStream, linear_copy(anywhere, dst, anywhere, src, ByteCount), src,
                          "cuMemcpyAsync");
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount) {
    return copy_now(linear_copy(on_device, dstDevice, on_host, address_of(srcHost), ByteCount),
                    "cuMemcpyHtoD");
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                              CUstream hStream) {
    return copy_row_later(
        hStream, linear_copy(on_device, dstDevice, on_host, address_of(srcHost), ByteCount),
        dstDevice, "cuMemcpyHtoDAsync");
}

CUresult cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    return copy_now(linear_copy(on_host, address_of(dstHost), on_device, srcDevice, ByteCount),
                    "cuMemcpyDtoH");
}

CUresult cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
    return copy_row_later(
        hStream, linear_copy(on_host, address_of(dstHost), on_device, srcDevice, ByteCount),
        srcDevice, "cuMemcpyDtoHAsync");
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
    return copy_now(linear_copy(on_device, dstDevice, on_device, srcDevice, ByteCount),
                    "cuMemcpyDtoD");
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
    return copy_row_later(hStream,
                          linear_copy(on_device, dstDevice, on_device, srcDevice, ByteCount),
                          srcDevice, "cuMemcpyDtoDAsync");
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount) {
    current_context();
    auto copy = linear_copy(on_device, dstDevice, on_device, srcDevice, ByteCount);
    copy.dstContext = dstContext;
    copy.srcContext = srcContext;
    return copy_now_between_contexts(copy, "cuMemcpyPeer");
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream) {
    auto copy = linear_copy(on_device, dstDevice, on_device, srcDevice, ByteCount);
    copy.dstContext = dstContext;
    copy.srcContext = srcContext;
    return copy_later(hStream, with_checked_contexts(copy, "cuMemcpyPeerAsync"),
                      "cuMemcpyPeerAsync");
}

CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                         size_t ByteCount) {
    const auto copy = linear_copy(on_device, 0, on_device, srcDevice, ByteCount);
    return copy_now(to_array(copy, dstArray, dstOffset), "cuMemcpyDtoA");
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount) {
    const auto copy = linear_copy(on_device, dstDevice, on_device, 0, ByteCount);
    return copy_now(from_array(copy, srcArray, srcOffset), "cuMemcpyAtoD");
}

CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                         size_t ByteCount) {
    const auto copy = linear_copy(on_device, 0, on_host, address_of(srcHost), ByteCount);
    return copy_now(to_array(copy, dstArray, dstOffset), "cuMemcpyHtoA");
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                              size_t ByteCount, CUstream hStream) {
    const auto copy = linear_copy(on_device, 0, on_host, address_of(srcHost), ByteCount);
    return copy_later(hStream, to_array(copy, dstArray, dstOffset), "cuMemcpyHtoAAsync");
}

CUresult cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
    const auto copy = linear_copy(on_host, address_of(dstHost), on_device, 0, ByteCount);
    return copy_now(from_array(copy, srcArray, srcOffset), "cuMemcpyAtoH");
}

CUresult cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream hStream) {
    const auto copy = linear_copy(on_host, address_of(dstHost), on_device, 0, ByteCount);
    return copy_later(hStream, from_array(copy, srcArray, srcOffset), "cuMemcpyAtoHAsync");
}

CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount) {
    const auto copy = linear_copy(on_device, 0, on_device, 0, ByteCount);
    return copy_now(from_array(to_array(copy, dstArray, dstOffset), srcArray, srcOffset),
                    "cuMemcpyAtoA");
}

} // namespace sim::driver
