// Pitched copies and fills: checks and driver calls.
#pragma once

#include <cushim/copy_2d.hpp>

namespace cushim::detail {

// invalid_argument with the numbers if extents differ, a view is invalid, or rows overlap.
Result<void> check(const PitchedCopy &copy) noexcept;
Result<void> check(const PitchedFill &fill) noexcept;

// Whether rows of both views overlap. Both are valid views of the same extent. Takes constant time
// if they are disjoint or have the same pitches; otherwise linear in the number of rows.
bool overlap(const PitchedView &a, const PitchedView &b, std::size_t element_size) noexcept;

CUDA_MEMCPY3D parameters_3d(const PitchedCopy &copy) noexcept;

} // namespace cushim::detail
