// What a person can do about what cushim-info found.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace cushim_info {

// Depends on nothing but its argument, whose own hints it ignores. The most urgent one first; empty
// where there is nothing to do.
std::vector<std::string> hints_for(const Info &info);

// The NVIDIA driver branch that brought a CUDA version, as "driver 580 or newer", or the version
// itself where that is not known: "a driver that supports CUDA 99.0".
std::string driver_for(int version);

} // namespace cushim_info
