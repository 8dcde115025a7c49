// Pitched copies and fills: checks and driver calls.
#pragma once

#include <cushim/copy_2d.hpp>

namespace cushim::detail {

// invalid_argument with the numbers if extents differ, a view is invalid, or rows overlap.
Result<void> check(const PitchedCopy &copy) noexcept;
Result<void> check(const PitchedFill &fill) noexcept;

CUDA_MEMCPY3D parameters_3d(const PitchedCopy &copy) noexcept;

} // namespace cushim::detail
