// Semaphores and images of Vulkan's, imported anew in each round of the soak.
#pragma once

#include "../harness/uses.hpp"

namespace gpu_test {

// Each says that it lacks Vulkan where there is none for the place's device.
std::span<const api_test::Use> vulkan_uses();

// Gives back what Vulkan made for all rounds.
void close_vulkan();

} // namespace gpu_test
