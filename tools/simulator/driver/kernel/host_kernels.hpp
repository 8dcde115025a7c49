// Host functions of kernels.
#pragma once

#include "../../cushim_sim.h"

#include "image/image.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace sim {

struct HostKernel {
    cushim_sim_kernel function = nullptr; // null: the kernel computes nothing
    void *user = nullptr;
};

// The host function of a kernel of the image: that with the most specific registered name. A name
// that is not exact must not fit another kernel as well. If no function fits, the launch is
// counted.
HostKernel host_kernel(const ImageKernel &kernel, const std::shared_ptr<const Image> &image);

// Sets the host function of kernels with that name; null: they compute nothing on purpose.
void register_kernel(const char *name, cushim_sim_kernel kernel, void *user);
void clear_kernels() noexcept;
// Reports launched kernels without a host function, one line each: "kernel add was launched 2 times
// and computed nothing: ...". Returns the number of lines.
std::size_t for_each_idle_kernel(const std::function<void(const std::string &)> &line);

} // namespace sim
