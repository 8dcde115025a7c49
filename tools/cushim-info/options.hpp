// The command line of cushim-info.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cushim_info {

struct Options {
    bool symbols = false;
    bool check = false;
    bool json = false;
    bool help = false;
    bool version = false;
    bool link_dir = false;
    std::string error; // an error in the command line; "" if none
};

// `arguments` excludes the program's name.
Options parse_options(const std::vector<std::string_view> &arguments);

std::string_view help_text();

} // namespace cushim_info
