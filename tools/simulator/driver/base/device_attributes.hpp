// The attributes of the device that was recorded, an NVIDIA H200: what a simulated device answers
// unless the settings say otherwise.
#pragma once

#include "base/cuda_headers.hpp"

#include <optional>

namespace sim {

// Nothing where a driver of that version does not know the attribute.
std::optional<int> recorded_attribute(int attribute, int driver_version) noexcept;

} // namespace sim
