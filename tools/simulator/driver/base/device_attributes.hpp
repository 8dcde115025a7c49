// Attributes of the recorded device, an NVIDIA H200. A simulated device has the same unless the
// settings override them.
#pragma once

#include "base/cuda_headers.hpp"

#include <optional>

namespace sim {

// No value if a driver of that version does not know the attribute.
std::optional<int> recorded_attribute(int attribute, int driver_version) noexcept;

} // namespace sim
