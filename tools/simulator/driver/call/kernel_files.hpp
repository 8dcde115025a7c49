// Shared libraries that register what kernels do, for programs that do not know the simulator: the
// setting kernels=FILE.
#pragma once

#include "../../cushim_sim.h"

#include <cstddef>
#include <string>

namespace sim {

// To be opened at the next register_kernel_files(). With the lock held.
void add_kernel_file(std::string path);
void clear_kernel_files() noexcept;
// How many are to be opened; leaves so many of them, the oldest.
std::size_t kernel_files() noexcept;
void keep_kernel_files(std::size_t count) noexcept;
// Opens what was added, and gives the control table to its entry function. Returns the first
// problem, or "". Without the lock: the entry function registers kernels, and a library's own
// constructors may call the simulator, too.
std::string register_kernel_files(const cushim_sim &table);

} // namespace sim
