// Memsets.
#include "runtime/memory/copy_submit.hpp"

namespace sim::runtime {
namespace {

// Like memset, uses the low byte of the value.
unsigned char byte_of(int value) noexcept {
    return static_cast<unsigned char>(value);
}

} // namespace

cudaError_t set_bytes(void *memory, int value, size_t count, const InStream &stream) {
    return stream ? CU(cuMemsetD8Async)(address(memory), byte_of(value), count, stream_of(*stream))
                  : CU_SYNC(cuMemsetD8_v2)(address(memory), byte_of(value), count);
}

cudaError_t set_2d(void *memory, size_t pitch, int value, size_t width, size_t height,
                   const InStream &stream) {
    return set_3d({memory, pitch, width, height}, value, {width, height, 1}, stream);
}

// Fills plane by plane: rows of a plane are `pitch` bytes apart, planes `ysize` rows.
cudaError_t set_3d(cudaPitchedPtr memory, int value, cudaExtent extent, const InStream &stream) {
    need_context();
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0) {
        return cudaSuccess;
    }
    // The driver checks the pitch, since a single row does not need one.
    require(extent.depth == 1 || extent.height <= memory.ysize);
    const CUdeviceptr begin = address(memory.ptr);
    const std::size_t planes = memory.pitch * memory.ysize * (extent.depth - 1);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (extent.depth > 1 && CU(cuMemGetAddressRange_v2)(&base, &size, begin) == cudaSuccess) {
        require(planes < size - (begin - base), "Memset extends beyond allocation range");
    }
    for (size_t plane = 0; plane < extent.depth; ++plane) {
        const CUdeviceptr at = address(memory.ptr) + plane * memory.pitch * memory.ysize;
        demand(stream ? CU(cuMemsetD2D8Async)(at, memory.pitch, byte_of(value), extent.width,
                                              extent.height, stream_of(*stream))
                      : CU_SYNC(cuMemsetD2D8_v2)(at, memory.pitch, byte_of(value), extent.width,
                                                 extent.height));
    }
    return cudaSuccess;
}

} // namespace sim::runtime
