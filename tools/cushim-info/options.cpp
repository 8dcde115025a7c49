#include "options.hpp"

namespace cushim_info {

namespace {

std::string refusal(std::string_view why, std::string_view argument) {
    return std::string(why).append(" '").append(argument).append("'");
}

// An option without a value; returns whether it exists.
bool set_option(Options &options, std::string_view argument) {
    if (argument == "--symbols") {
        options.symbols = true;
    } else if (argument == "--check") {
        options.check = true;
    } else if (argument == "--json") {
        options.json = true;
    } else if (argument == "--audit") {
        options.audit = true;
    } else if (argument == "--help" || argument == "-h") {
        options.help = true;
    } else if (argument == "--version") {
        options.version = true;
    } else {
        return false;
    }
    return true;
}

// Errors that depend on several arguments.
std::string contradiction(const Options &options, bool has_root) {
    if (!options.audit) {
        return !options.binaries.empty() ? refusal("unexpected argument", options.binaries.front())
               : has_root                ? "--root requires --audit"
                                         : "";
    }
    if (options.symbols || options.check) {
        return "--audit cannot be combined with --symbols or --check";
    }
    return options.binaries.empty() ? "--audit needs the files to audit" : "";
}

} // namespace

Options parse_options(const std::vector<std::string_view> &arguments) {
    Options options;
    bool has_root = false, only_files = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i];
        const bool is_option = !only_files && argument.starts_with("-");
        if (!is_option) {
            options.binaries.emplace_back(argument);
        } else if (argument == "--") {
            only_files = true;
        } else if (argument == "--root" && i + 1 < arguments.size()) {
            has_root = true;
            options.root = arguments[++i];
        } else if (!set_option(options, argument)) {
            options.error = refusal("unknown option", argument);
            return options;
        }
    }
    options.error = options.help || options.version ? "" : contradiction(options, has_root);
    return options;
}

std::string_view help_text() {
    return "usage: cushim-info [--symbols] [--check] [--json]\n"
           "       cushim-info --audit [--json] [--root FOLDER] BINARY...\n"
           "\n"
           "Prints the CUDA driver and runtime libraries that cushim finds on this machine, why\n"
           "other candidates were rejected, how many entry points resolve, the devices, and\n"
           "advice if something is missing.\n"
           "\n"
           "  --symbols  list every entry point instead, one a line: library, name, the CUDA\n"
           "             version that introduced it ('-': unknown), state\n"
           "  --check    print nothing and exit with 0 if a usable device exists; otherwise\n"
           "             print the reason to standard error and exit with 1\n"
           "  --audit    report whether programs and libraries, ELF or PE, for any machine, need\n"
           "             a CUDA library at start-up, which of their libraries links it, and what\n"
           "             to change. Nothing is loaded or run\n"
           "  --root     root folder of the file system of these programs; default /\n"
           "  --json     print one JSON object instead of text; with --symbols it holds every\n"
           "             entry point too\n"
           "  --version  print the version of cushim and of the CUDA headers it was built with\n"
           "  --help     print this\n"
           "\n"
           "An audit looks for the libraries of an ELF file in its DT_RPATH or DT_RUNPATH "
           "($ORIGIN\n"
           "and $LIB replaced), in the folders of /etc/ld.so.conf, and in the system's folders,\n"
           "including those of other architectures; in each, variants for the newest processors\n"
           "come first (glibc-hwcaps). LD_LIBRARY_PATH is ignored. Symbolic links are resolved\n"
           "relative to the root. The DLLs of a PE file are searched for in the program's folder;\n"
           "DLLs of Windows are ignored. A library that is not found is reported, since its own\n"
           "dependencies are unknown.\n"
           "\n"
           "Environment, except with --audit:\n"
           "  CUSHIM_DRIVER=PATH   load exactly this file as the driver\n"
           "  CUSHIM_RUNTIME=PATH  load exactly this file as the runtime\n"
           "  CUSHIM_DISABLE=1     behave as if no CUDA library were installed\n"
           "\n"
           "Exit status:\n"
           "  0  the report was printed, with or without CUDA; with --check: a usable device\n"
           "     exists; with --audit: all files start without CUDA\n"
           "  1  with --check: no usable device exists; with --audit: a file needs CUDA at\n"
           "     start-up; or the output could not be written\n"
           "  2  the command line was not understood; with --audit: a file could not be read, or\n"
           "     is not a program or library, or the output could not be written\n";
}

} // namespace cushim_info
