// cushim-sim: runs programs on the simulated driver; prints unsupported entry points and paths.
#include "library_paths.hpp"
#include "options.hpp"
#include "process.hpp"

#include "../cushim_sim.h"
#include "../driver/base/setting_text.hpp"

#include <cstdio>
#include <string>
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

const cushim_sim *control_of(const Places &places) {
    const auto control = reinterpret_cast<cushim_sim_control_function>(
        function_of(places.driver, CUSHIM_SIM_CONTROL));
    return control != nullptr ? control() : nullptr;
}

// The last value of the setting `report`.
std::string report_of(const std::string &settings) {
    std::string report = "0";
    for (const auto &[whole, key, value] : sim::settings_in(settings)) {
        if (key == "report") {
            report = value.value_or("");
        }
    }
    return report;
}

// Runs the program and then reports the planned faults that fired in none of its processes. They
// inherit the faults, and tell those that fire to this process.
int run_with_faults(const Options &options, const cushim_sim &control, bool fails) {
    const int status = run_and_wait(options.program);
    const auto print = [](const char *line, void *kind) {
        const std::string text = line; // what follows ';' is about the calls of this process
        std::fprintf(stderr, "cushim-sim: %s: %s in any process\n", static_cast<const char *>(kind),
                     text.substr(0, text.find(';')).c_str());
    };
    char error[] = "error", note[] = "note";
    const std::size_t idle = control.idle_faults(print, fails ? error : note);
    return status == 0 && fails && idle != 0 ? 1 : status;
}

int run(const Options &options, const Places &places) {
    const std::string before = variable("CUSHIM_SIM");
    const std::string settings = before.empty() || options.settings.empty()
                                     ? before + options.settings
                                     : before + ";" + options.settings;
    const cushim_sim *const control = control_of(places);
    if (control == nullptr) {
        return refuse("settings: " + places.driver + " cannot be loaded");
    }
    // Checked here, since many programs treat a driver that fails as a missing one.
    if (control->configure(settings.c_str()) != 0) {
        return refuse(std::string("settings: ") + control->problem());
    }
    set_variable("CUSHIM_DRIVER", places.driver);
    set_variable("CUSHIM_RUNTIME", places.runtime);
    if (!settings.empty()) {
        set_variable("CUSHIM_SIM", settings);
    }
    const std::string report = report_of(settings);
    if (ancestors_are_told && report != "0") {
        control->reset(); // plans the faults of CUSHIM_SIM, as the program does
        if (control->idle_faults(nullptr, nullptr) != 0) {
            return run_with_faults(options, *control, report != "1");
        }
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
