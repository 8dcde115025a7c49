// Shared libraries that register kernels' host functions, for programs that do not know the
// simulator: the setting kernels=FILE.
#pragma once

#include "../../cushim_sim.h"

#include <cstddef>
#include <string>

namespace sim {

// The next register_kernel_files() opens it. The caller holds the lock.
void add_kernel_file(std::string path);
void clear_kernel_files() noexcept;
// The number of pending files, and a function that keeps only so many of them, the oldest.
std::size_t kernel_files() noexcept;
void keep_kernel_files(std::size_t count) noexcept;
// Opens the pending files and passes the control table to their entry functions. Returns the first
// problem, or "". The caller does not hold the lock: entry functions register kernels, and a
// library's constructors may call the simulator too.
std::string register_kernel_files(const cushim_sim &table);

} // namespace sim
