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
    bool audit = false;
    std::vector<std::string> binaries; // to audit
    std::string root = "/";            // of the file system that they are for
    bool help = false;
    bool version = false;
    std::string error; // of the command line, in words; "" if there is none
};

// The arguments without the program's name.
Options parse_options(const std::vector<std::string_view> &arguments);

std::string_view help_text();

} // namespace cushim_info
