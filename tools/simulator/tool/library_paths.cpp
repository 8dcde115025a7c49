#include "library_paths.hpp"

#include "process.hpp"

#include <filesystem>
#include <system_error>

namespace cushim_sim_tool {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path &folder) {
    std::error_code error;
    return fs::exists(folder / SIM_DRIVER_FILE, error);
}

Places places_in(const fs::path &libraries, const fs::path &include) {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(libraries, error);
    return {(folder / SIM_DRIVER_FILE).string(), (folder / SIM_RUNTIME_FILE).string(),
            fs::weakly_canonical(include, error).string()};
}

} // namespace

Places find_places() {
    const fs::path own = fs::path(own_file()).parent_path();
    // Relative to the tool, so that the whole installation can be moved.
    const fs::path installed = own / SIM_INSTALLED;
    if (holds(installed)) {
        return places_in(installed, installed / "include");
    }
    const fs::path built = own / ".." / "variants" / "current";
    if (holds(built)) {
        return places_in(built, SIM_SOURCE_INCLUDE);
    }
    return {};
}

} // namespace cushim_sim_tool
