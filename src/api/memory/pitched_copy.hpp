// Pitched copies and fills: checks and driver calls.
#pragma once

#include <cushim/copy.hpp>

#include <cstdint>

#include "base/ranges.hpp"

namespace cushim::detail {

// The view of a span, which needs no further checks. Elements are multiples of their alignment.
inline bool is_one_row(const PitchedView &view, const ElementType &element) noexcept {
    const auto &[address, extent, pitch] = view;
    return extent.height == 1 && extent.depth == 1 &&
           !product_overflows(extent.width, element.size) &&
           pitch.row == extent.width * element.size;
}

// invalid_argument if extents differ, a view is invalid, or rows overlap.
Result<void> check_rows(const PitchedCopy &copy) noexcept;
Result<void> check_rows(const PitchedFill &fill) noexcept;

// Two ranges of this size, which is not 0. One comparison for both directions, if 2 * bytes does
// not overflow.
inline bool are_apart(unsigned long long to, unsigned long long from,
                      unsigned long long bytes) noexcept {
    return static_cast<long long>(bytes) > 0 && to - from + (bytes - 1) >= 2 * bytes - 1;
}

// Those of spans, which need no further checks, and are not empty.
inline bool is_plain(const PitchedCopy &copy) noexcept {
    const PitchedView &to = copy.to, &from = copy.from;
    const ElementType &element = copy.element;
    return to.extent == from.extent &&
           are_apart(to.address, from.address, to.extent.width * element.size) &&
           is_one_row(to, element) && is_one_row(from, element);
}
inline bool is_plain(const PitchedFill &fill) noexcept {
    const bool is_aligned = (fill.to.address & (fill.element.size - 1)) == 0; // 1, 2 or 4 bytes
    return is_aligned && fill.to.extent.width != 0 && is_one_row(fill.to, fill.element);
}
// The errors of check_rows(); false without elements.
inline Result<bool> check(const auto &rows) noexcept {
    if (is_plain(rows)) [[likely]] {
        return true;
    }
    CUSHIM_TRY_VOID(check_rows(rows));
    return !rows.to.extent.empty();
}

// Whether rows of both views overlap. Both are valid views of the same extent. Takes constant time
// if they are disjoint or have the same pitches; otherwise linear in the number of rows.
bool overlap(const PitchedView &a, const PitchedView &b, std::size_t element_size) noexcept;

// CUDA's parameters, a CUDA_MEMCPY2D or CUDA_MEMCPY3D.
template <class Parameters>
Parameters parameters_of(const PitchedCopy &copy) noexcept {
    const auto host = [](unsigned long long address) noexcept {
        return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
    };
    const auto types = static_cast<unsigned int>(copy.kind);
    Parameters parameters{};
    parameters.srcMemoryType = static_cast<CUmemorytype>(types & 0xffff);
    parameters.srcHost = host(copy.from.address);
    parameters.srcDevice = static_cast<CUdeviceptr>(copy.from.address);
    parameters.srcPitch = copy.from.pitch.row;
    parameters.dstMemoryType = static_cast<CUmemorytype>(types >> 16);
    parameters.dstHost = host(copy.to.address);
    parameters.dstDevice = static_cast<CUdeviceptr>(copy.to.address);
    parameters.dstPitch = copy.to.pitch.row;
    parameters.WidthInBytes = copy.to.extent.width * copy.element.size;
    parameters.Height = copy.to.extent.height;
    return parameters;
}
inline CUDA_MEMCPY3D parameters_3d(const PitchedCopy &copy) noexcept {
    auto parameters = parameters_of<CUDA_MEMCPY3D>(copy);
    parameters.srcHeight = copy.from.pitch.layer;
    parameters.dstHeight = copy.to.pitch.layer;
    parameters.Depth = copy.to.extent.depth;
    return parameters;
}

} // namespace cushim::detail
