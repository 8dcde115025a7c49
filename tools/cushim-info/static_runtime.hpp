// Detects NVIDIA's static libcudart in a file, which no symbol table names.
#pragma once

#include <string>

#include "source.hpp"

namespace cushim_info {

// The signs that were found; "" if none. This is an inference from texts in the file, not a proof.
std::string signs_of_static_runtime(Source &source);

} // namespace cushim_info
