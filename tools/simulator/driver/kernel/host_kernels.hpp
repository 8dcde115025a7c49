// The host functions that stand for kernels.
#pragma once

#include "../../cushim_sim.h"

#include <cstddef>
#include <functional>
#include <string>

namespace sim {

struct HostKernel {
    cushim_sim_kernel function = nullptr; // null: the kernel computes nothing
    void *user = nullptr;
};

// What a launch of that kernel runs. Where nothing is registered, that is counted.
HostKernel host_kernel(const std::string &name);

// What kernels of that name do from now on; null: nothing, which is then intended.
void register_kernel(const char *name, cushim_sim_kernel kernel, void *user);
void clear_kernels() noexcept;
// Kernels that were launched and for which nothing is registered, a line each: "kernel add was
// launched 2 times and computed nothing: ...". Returns how many.
std::size_t for_each_idle_kernel(const std::function<void(const std::string &)> &line);

} // namespace sim
