#include "options.hpp"

namespace cushim_sim_tool {
namespace {

Options refused(std::string why) {
    Options options;
    options.error = std::move(why);
    return options;
}

Options alone(Command command, std::size_t count) {
    Options options;
    options.command = command;
    return count == 1 ? options : refused("unexpected argument after the option");
}

Options parse_run(const std::vector<std::string_view> &arguments) {
    Options options;
    options.command = Command::run;
    std::size_t next = 1;
    for (; next < arguments.size() && arguments[next].starts_with("-"); ++next) {
        if (arguments[next] == "--") {
            ++next;
            break;
        }
        if (arguments[next] != "--set") {
            return refused("unknown option '" + std::string(arguments[next]) + "'");
        }
        if (++next == arguments.size()) {
            return refused("--set needs settings");
        }
        options.settings.append(options.settings.empty() ? "" : ";").append(arguments[next]);
    }
    options.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
    return options.program.empty() ? refused("run needs a program") : options;
}

} // namespace

Options parse_options(const std::vector<std::string_view> &arguments) {
    if (arguments.empty()) {
        return refused("nothing to do");
    }
    const std::string_view first = arguments.front();
    if (first == "--help" || first == "-h") {
        return alone(Command::help, arguments.size());
    }
    if (first == "--version") {
        return alone(Command::version, arguments.size());
    }
    if (first == "--list") {
        return alone(Command::list, arguments.size());
    }
    if (first == "--paths") {
        return alone(Command::paths, arguments.size());
    }
    if (first == "run") {
        return parse_run(arguments);
    }
    return refused("unknown command '" + std::string(first) + "'");
}

std::string_view help_text() {
    return "usage: cushim-sim run [--set SETTINGS]... [--] PROGRAM [ARGUMENT]...\n"
           "       cushim-sim --list | --paths | --version | --help\n"
           "\n"
           "Runs programs that use cushim on a simulated CUDA driver and runtime, on machines\n"
           "without a GPU.\n"
           "\n"
           "  run      run a program with CUSHIM_DRIVER and CUSHIM_RUNTIME set to the simulator\n"
           "    --set SETTINGS  add to CUSHIM_SIM: \"devices=2;memory=1GiB\"; cushim_sim.h lists\n"
           "                    the settings\n"
           "  --list   print the entry points that are not simulated and return NOT_SUPPORTED "
           "(801),\n"
           "           one a line\n"
           "  --paths  print where the simulated libraries and the headers cushim_sim.h and\n"
           "           cushim_sim.hpp are\n"
           "  --version, --help\n"
           "\n"
           "Exit status: that of the program; 126 if it cannot be run, 127 if it does not exist;\n"
           "2 if the command line or a setting is not understood; 1 if the simulator's libraries\n"
           "are not where they were installed\n";
}

} // namespace cushim_sim_tool
