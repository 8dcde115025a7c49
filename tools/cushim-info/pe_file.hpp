// Reads Windows programs and DLLs: PE32 and PE32+ of every machine.
#pragma once

#include <string_view>

#include "binary.hpp"

namespace cushim_info {

bool is_pe(std::string_view start);

// Throws Unreadable.
Binary read_pe(Source &source);

} // namespace cushim_info
