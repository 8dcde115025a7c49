// How much a program holds through operator new: with a real driver, whose allocations are its own,
// what the program and cushim hold.
#pragma once

#include <cstddef>

namespace gpu_test {

std::size_t live_bytes() noexcept;

} // namespace gpu_test
