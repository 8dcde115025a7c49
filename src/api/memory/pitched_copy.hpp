// Pitched copies and fills: checks and driver calls.
#pragma once

#include <cushim/copy_2d.hpp>

#include "base/ranges.hpp"

namespace cushim::detail {

// The view of a span, which needs no further checks. Elements are multiples of their alignment.
inline bool is_one_row(const PitchedView &view, const ElementType &element) noexcept {
    const auto &[address, extent, pitch] = view;
    return extent.height == 1 && extent.depth == 1 &&
           !product_overflows(extent.width, element.size) &&
           pitch.row == extent.width * element.size;
}

// invalid_argument with the numbers if extents differ, a view is invalid, or rows overlap.
Result<void> check_rows(const PitchedCopy &copy) noexcept;
Result<void> check_rows(const PitchedFill &fill) noexcept;
inline Result<void> check(const PitchedCopy &copy) noexcept {
    const PitchedView &to = copy.to, &from = copy.from;
    const ElementType &element = copy.element;
    const unsigned long long bytes = to.extent.width * element.size;
    const bool are_apart = to.address - from.address >= bytes && from.address - to.address >= bytes;
    return are_apart && to.extent == from.extent && is_one_row(to, element) &&
                   is_one_row(from, element)
               ? Result<void>()
               : check_rows(copy);
}
inline Result<void> check(const PitchedFill &fill) noexcept {
    const bool is_aligned = (fill.to.address & (fill.element.size - 1)) == 0; // 1, 2 or 4 bytes
    return is_aligned && is_one_row(fill.to, fill.element) ? Result<void>() : check_rows(fill);
}

// Whether rows of both views overlap. Both are valid views of the same extent. Takes constant time
// if they are disjoint or have the same pitches; otherwise linear in the number of rows.
bool overlap(const PitchedView &a, const PitchedView &b, std::size_t element_size) noexcept;

CUDA_MEMCPY3D parameters_3d(const PitchedCopy &copy) noexcept;

} // namespace cushim::detail
