// The command line of cushim-sim.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cushim_sim_tool {

enum class Command { help, version, list, paths, run };

struct Options {
    Command command = Command::help;
    std::string settings;             // for CUSHIM_SIM, joined by ';'
    std::vector<std::string> program; // with its arguments
    std::string error;                // what was not understood, or ""
};

Options parse_options(const std::vector<std::string_view> &arguments);
std::string_view help_text();

} // namespace cushim_sim_tool
