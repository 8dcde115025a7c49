// Copies of one row between addresses of any kind, devices and arrays; most are in
// ../forwarded.txt.
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "memory/copy.hpp"
#include "memory/virtual_memory.hpp"

namespace sim {
namespace {

CUDA_MEMCPY3D_PEER row_of(const RowEnd &to, const RowEnd &from, std::size_t bytes) {
    auto row = linear_copy(to.type, to.address, from.type, from.address, bytes);
    row.dstArray = to.array;
    row.dstXInBytes = to.offset;
    row.srcArray = from.array;
    row.srcXInBytes = from.offset;
    return row;
}

CUDA_MEMCPY3D_PEER row_anywhere(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return linear_copy(CU_MEMORYTYPE_UNIFIED, to, CU_MEMORYTYPE_UNIFIED, from, bytes);
}

bool is_of_several_mappings(CUdeviceptr address, std::size_t size) {
    const Range *const range = AddressSpace::get().find(address);
    const Mapping *const mapping = range != nullptr ? mapping_at(address) : nullptr;
    return mapping != nullptr && size > mapping->offset + mapping->size - (address - range->base);
}

// Recorded: without a current context, such a copy fails if the range at `looked_at` extends into
// another mapping. That is the source; for cuMemcpyHtoDAsync, it is the destination.
CUresult copy_row_later(CUstream handle, const CUDA_MEMCPY3D_PEER &row, CUdeviceptr looked_at) {
    const Stream &stream = stream_of(handle);
    if (current_or_null() == nullptr && stream.capture == nullptr) {
        require(!is_of_several_mappings(looked_at, row.WidthInBytes),
                "Copy range not fully allocated");
    }
    return copy_later(handle, row);
}

} // namespace

CUresult copy_row(RowEnd to, RowEnd from, std::size_t bytes) {
    return copy_now(row_of(to, from, bytes));
}

CUresult copy_row(RowEnd to, RowEnd from, std::size_t bytes, CUstream stream) {
    const CUdeviceptr looked_at = from.type == CU_MEMORYTYPE_HOST ? to.address : from.address;
    return copy_row_later(stream, row_of(to, from, bytes), looked_at);
}

CUresult copy_row_anywhere(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return copy_now(row_anywhere(to, from, bytes));
}

CUresult copy_row_anywhere(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copy_row_later(stream, row_anywhere(to, from, bytes), from);
}

CUresult copy_row_of_array(RowEnd to, RowEnd from, std::size_t bytes,
                           std::optional<CUstream> stream) {
    const auto row = row_of(to, from, bytes);
    return stream ? copy_later(*stream, row) : copy_now(row);
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                             CUcontext srcContext, size_t ByteCount) {
    current_context();
    auto copy = row_of(dstDevice, srcDevice, ByteCount);
    copy.dstContext = dstContext;
    copy.srcContext = srcContext;
    return copy_now_between_contexts(copy);
}

EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                  CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                  CUstream hStream) {
    refuse_capturing(stream_of(hStream));
    auto copy = row_of(dstDevice, srcDevice, ByteCount);
    copy.dstContext = dstContext;
    copy.srcContext = srcContext;
    return copy_later(hStream, with_checked_contexts(copy));
}

} // namespace sim::driver
