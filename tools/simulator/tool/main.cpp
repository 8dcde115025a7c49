// cushim-sim: runs programs on the simulated driver, and says what is simulated and where it is.
#include "options.hpp"
#include "places.hpp"
#include "process.hpp"

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

int run(const Options &options, const Places &places) {
    set_variable("CUSHIM_DRIVER", places.driver);
    set_variable("CUSHIM_RUNTIME", places.runtime);
    if (!options.settings.empty()) {
        const std::string before = variable("CUSHIM_SIM");
        set_variable("CUSHIM_SIM",
                     before.empty() ? options.settings : before + ";" + options.settings);
    }
    return run_program(options.program);
}

int refuse(const std::string &why) {
    std::fprintf(stderr, "cushim-sim: %s\nTry 'cushim-sim --help'.\n", why.c_str());
    return 2;
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
        std::printf("cushim-sim %s, CUDA headers %d.%d\n", CUSHIM_VERSION, SIM_CUDA_VERSION / 1000,
                    SIM_CUDA_VERSION % 1000 / 10);
        return 0;
    case Command::list:
        return print_list();
    case Command::paths:
    case Command::run:
        break;
    }
    const Places places = find_places();
    if (places.driver.empty()) {
        std::fprintf(stderr, "cushim-sim: the simulated libraries are not where they belong\n");
        return 1;
    }
    return options.command == Command::paths ? print_paths(places) : run(options, places);
}
