// The vocabulary of PTX: versions, types, instructions.
#pragma once

#include <cstddef>
#include <string_view>

namespace sim::ptx {

// The newest PTX version that a driver of this CUDA version accepts, 84 for 8.4.
int newest_ptx(int cuda);
// The size of a type such as .u64 or .b8 in bytes; 0: not a type.
std::size_t size_of_type(std::string_view type);
// Whether a word begins with an instruction's name, as ld.param.u64. Complete up to PTX 9.0.
bool is_instruction(std::string_view word);
constexpr int instructions_version = 90;

} // namespace sim::ptx
