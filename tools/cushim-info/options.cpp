#include "options.hpp"

namespace cushim_info {

Options parse_options(const std::vector<std::string_view> &arguments) {
    Options options;
    for (const std::string_view argument : arguments) {
        if (argument == "--symbols") {
            options.symbols = true;
        } else if (argument == "--check") {
            options.check = true;
        } else if (argument == "--json") {
            options.json = true;
        } else if (argument == "--help" || argument == "-h") {
            options.help = true;
        } else if (argument == "--version") {
            options.version = true;
        } else {
            const bool is_option = argument.substr(0, 1) == "-";
            options.error = is_option ? "unknown option '" : "unexpected argument '";
            options.error.append(argument).append("'");
            return options;
        }
    }
    return options;
}

std::string_view help_text() {
    return "usage: cushim-info [--symbols] [--check] [--json]\n"
           "\n"
           "Says which CUDA driver and runtime libraries cushim finds on this machine, what was\n"
           "tried and why it was not taken, how many entry points resolve, which devices there\n"
           "are, and what to do where something is missing.\n"
           "\n"
           "  --symbols  list every entry point instead, one a line: library, name, the CUDA\n"
           "             version that introduced it ('-': no header tells), state\n"
           "  --check    print nothing and exit with 0 if there is a usable device; otherwise\n"
           "             print the reason on standard error and exit with 1\n"
           "  --json     print one JSON object instead of text; with --symbols it holds every\n"
           "             entry point too\n"
           "  --version  print the version of cushim and of the CUDA headers it was built with\n"
           "  --help     print this\n"
           "\n"
           "environment:\n"
           "  CUSHIM_DRIVER=PATH   load exactly this file as the driver\n"
           "  CUSHIM_RUNTIME=PATH  load exactly this file as the runtime\n"
           "  CUSHIM_DISABLE=1     behave as if there were no CUDA library\n"
           "\n"
           "exit status:\n"
           "  0  the report was printed, on a machine without CUDA too; with --check: there is a\n"
           "     usable device\n"
           "  1  with --check: there is no usable device; or the output could not be written\n"
           "  2  the command line was not understood\n";
}

} // namespace cushim_info
