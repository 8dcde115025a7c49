// Copies and fills of rows and layers, checked and as the driver takes them.
#pragma once

#include <cushim/copy_2d.hpp>

namespace cushim::detail {

// invalid_argument with the numbers: extents differ, a view is impossible, or rows overlap.
Result<void> check(const PitchedCopy &copy) noexcept;
Result<void> check(const PitchedFill &fill) noexcept;

CUDA_MEMCPY3D parameters_3d(const PitchedCopy &copy) noexcept;

} // namespace cushim::detail
