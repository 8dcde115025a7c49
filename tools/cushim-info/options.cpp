#include "options.hpp"

namespace cushim_info {

namespace {

// An option without a value; returns whether it exists.
bool set_option(Options &options, std::string_view argument) {
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
    } else if (argument == "--link-dir") {
        options.link_dir = true;
    } else {
        return false;
    }
    return true;
}

} // namespace

Options parse_options(const std::vector<std::string_view> &arguments) {
    Options options;
    for (const std::string_view argument : arguments) {
        if (argument == "--audit") {
            options.error = "programs are audited by cushim-audit FILE...";
            break;
        }
        if (!set_option(options, argument)) {
            options.error =
                (argument.starts_with("-") ? "unknown option '" : "unexpected argument '") +
                std::string(argument) + "'";
            break;
        }
    }
    return options;
}

std::string_view help_text() {
    return "usage: cushim-info [--symbols] [--check] [--json]\n"
           "       cushim-info --link-dir\n"
           "\n"
           "Prints the CUDA driver and runtime libraries that cushim finds on this machine, why\n"
           "other candidates were rejected, how many entry points resolve, the devices, and\n"
           "hints if something is missing.\n"
           "\n"
           "  --symbols  list every entry point instead, one a line: library, name, the CUDA\n"
           "             version that introduced it ('-': unknown), state\n"
           "  --check    print nothing and exit with 0 if a usable device exists; otherwise\n"
           "             print the reason to standard error and exit with 1\n"
           "  --json     print one JSON object instead of text; with --symbols it holds every\n"
           "             entry point too\n"
           "  --version  print the version of cushim and of the CUDA headers it was built with\n"
           "  --link-dir print the folder with which -lcuda and -lcudart mean cushim's drop-ins,\n"
           "             for -L (Linux, installed)\n"
           "  --help     print this\n"
           "\n"
           "Environment:\n"
           "  CUSHIM_DRIVER=PATH   load exactly this file as the driver\n"
           "  CUSHIM_RUNTIME=PATH  load exactly this file as the runtime\n"
           "  CUSHIM_DISABLE=1     behave as if no CUDA library were installed\n"
           "\n"
           "Exit status:\n"
           "  0  the report was printed, with or without CUDA; with --check: a usable device\n"
           "     exists\n"
           "  1  with --check: no usable device exists; or the output could not be written\n"
           "  2  the command line was not understood\n"
           "\n"
           "cushim-audit reports whether programs need a CUDA library at start-up.\n";
}

} // namespace cushim_info
