// Hints on the findings of cushim-info.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace cushim_info {

// A pure function; ignores info.hints. Sorted by urgency; empty if nothing is wrong.
std::vector<std::string> hints_for(const Info &info);

// The first NVIDIA driver branch for a CUDA version, as "driver 580 or newer", or the version
// itself if that is unknown: "a driver that supports CUDA 99.0".
std::string driver_for(int version);

} // namespace cushim_info
