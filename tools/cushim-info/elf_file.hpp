// Reads ELF programs and shared libraries of every class, byte order and machine.
#pragma once

#include <string_view>

#include "binary.hpp"

namespace cushim_info {

bool is_elf(std::string_view start);

// Throws Unreadable.
Binary read_elf(Source &source);

} // namespace cushim_info
