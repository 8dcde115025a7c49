// Where the simulated libraries are: below the prefix that this tool was installed in, or in its
// build.
#pragma once

#include <string>

namespace cushim_sim_tool {

struct Places {
    std::string driver, runtime, include; // "" where they are not found
};

Places find_places();

} // namespace cushim_sim_tool
