// Whether a file contains NVIDIA's static libcudart, which leaves no name in any table.
#pragma once

#include <string>

#include "source.hpp"

namespace cushim_info {

// What speaks for it, in words; "" if nothing does. An inference from texts in the file, no proof.
std::string signs_of_static_runtime(Source &source);

} // namespace cushim_info
