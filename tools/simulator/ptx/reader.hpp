// Reads PTX.
#pragma once

#include "ptx/problem.hpp"
#include "ptx/syntax.hpp"

#include <string_view>

namespace sim::ptx {

// Reads and checks a whole text, as a driver does when it loads it. Throws the first Problem.
// newest: the newest version that is accepted, 90 for 9.0. The module points into the text.
Module read(std::string_view text, int newest);

} // namespace sim::ptx
