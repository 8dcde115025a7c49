// What the soak leaves behind on purpose, to show that it notices.
#pragma once

#include <cushim/context.hpp>
#include <cushim/result.hpp>

#include <string>
#include <string_view>

namespace gpu_test {

// What the finding begins with that tells of the leak of this name; nullptr: there is none of this
// name.
const char *finding_of_leak(std::string_view name);
// "one|another"
std::string names_of_leaks();
// Once in each round.
cushim::Result<void> leave_behind(std::string_view name, const cushim::Context &context);

} // namespace gpu_test
