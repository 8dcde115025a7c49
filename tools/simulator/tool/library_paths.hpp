// Paths of the simulated libraries: below the installation prefix of this tool, or in its build.
#pragma once

#include <string>

namespace cushim_sim_tool {

struct Places {
    std::string driver, runtime, include; // "" if not found
};

Places find_places();

} // namespace cushim_sim_tool
