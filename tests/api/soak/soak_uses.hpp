// What the soak repeats.
#pragma once

#include "../harness/uses.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpu_test {

// All of each round, or where a name is given the one that has it: none where it is nobody's. What
// another API exports is Vulkan's on a GPU.
std::vector<api_test::Use> wanted_uses(std::string_view name);

// Those that can be given, a line each.
std::string names_of_uses();

} // namespace gpu_test
