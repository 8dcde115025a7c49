// cushim-sim: runs programs on the simulated driver; prints unsupported entry points and paths.
#include "library_paths.hpp"
#include "options.hpp"
#include "process.hpp"

#include "../cushim_sim.h"

#include <cstdio>
#include <string_view>
#include <vector>

namespace {

using namespace cushim_sim_tool;

constexpr const char *not_simulated[] = {
#include "not_simulated.inc"
    nullptr,
};

int print_list() {
    for (const char *const *name = not_simulated; *name != nullptr; ++name) {
        std::puts(*name);
    }
    return 0;
}

int print_paths(const Places &places) {
    std::printf("driver=%s\nruntime=%s\nincludedir=%s\n", places.driver.c_str(),
                places.runtime.c_str(), places.include.c_str());
    return 0;
}

int refuse(const std::string &why) {
    std::fprintf(stderr, "cushim-sim: %s\nTry 'cushim-sim --help'.\n", why.c_str());
    return 2;
}

// The setting that the simulator does not understand, or "". Checked here, since many programs
// treat a driver that fails as a missing one.
std::string problem_of(const std::string &settings, const Places &places) {
    const auto control = reinterpret_cast<cushim_sim_control_function>(
        function_of(places.driver, CUSHIM_SIM_CONTROL));
    if (control == nullptr) {
        return places.driver + " cannot be loaded";
    }
    return control()->configure(settings.c_str()) == 0 ? "" : control()->problem();
}

int run(const Options &options, const Places &places) {
    const std::string before = variable("CUSHIM_SIM");
    const std::string settings = before.empty() || options.settings.empty()
                                     ? before + options.settings
                                     : before + ";" + options.settings;
    if (const std::string problem = problem_of(settings, places); !problem.empty()) {
        return refuse("settings: " + problem);
    }
    set_variable("CUSHIM_DRIVER", places.driver);
    set_variable("CUSHIM_RUNTIME", places.runtime);
    if (!settings.empty()) {
        set_variable("CUSHIM_SIM", settings);
    }
    return run_program(options.program);
}

} // namespace

int main(int argc, char **argv) {
    const Options options = parse_options({argv + 1, argv + argc});
    if (!options.error.empty()) {
        return refuse(options.error);
    }
    switch (options.command) {
    case Command::help:
        std::printf("%s", help_text().data());
        return 0;
    case Command::version:
        std::printf("cushim-sim %s, CUDA headers %d.%d\n", CUSHIM_VERSION_TEXT,
                    SIM_CUDA_VERSION / 1000, SIM_CUDA_VERSION % 1000 / 10);
        return 0;
    case Command::list:
        return print_list();
    case Command::paths:
    case Command::run:
        break;
    }
    const Places places = find_places();
    if (places.driver.empty()) {
        std::fprintf(
            stderr,
            "cushim-sim: the simulated libraries were not found where they were installed\n");
        return 1;
    }
    return options.command == Command::paths ? print_paths(places) : run(options, places);
}
