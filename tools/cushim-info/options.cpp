#include "options.hpp"

namespace cushim_info {

namespace {

std::string refusal(std::string_view why, std::string_view argument) {
    return std::string(why).append(" '").append(argument).append("'");
}

// One that stands alone; whether there is such an option.
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

// What no single argument shows.
std::string contradiction(const Options &options, bool has_root) {
    if (!options.audit) {
        return !options.binaries.empty() ? refusal("unexpected argument", options.binaries.front())
               : has_root                ? "--root goes with --audit"
                                         : "";
    }
    if (options.symbols || options.check) {
        return "--audit goes with neither --symbols nor --check";
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
           "Says which CUDA driver and runtime libraries cushim finds on this machine, what was\n"
           "tried and why it was not taken, how many entry points resolve, which devices there\n"
           "are, and what to do where something is missing.\n"
           "\n"
           "  --symbols  list every entry point instead, one a line: library, name, the CUDA\n"
           "             version that introduced it ('-': no header tells), state\n"
           "  --check    print nothing and exit with 0 if there is a usable device; otherwise\n"
           "             print the reason on standard error and exit with 1\n"
           "  --audit    say of programs and libraries, ELF or PE, of any machine, whether they\n"
           "             need a CUDA library when they start, through which of their libraries,\n"
           "             and what to change. Nothing is loaded or run\n"
           "  --root     the folder that is the root of the file system these programs are for\n"
           "  --json     print one JSON object instead of text; with --symbols it holds every\n"
           "             entry point too\n"
           "  --version  print the version of cushim and of the CUDA headers it was built with\n"
           "  --help     print this\n"
           "\n"
           "An audit looks for the libraries of an ELF file in its DT_RPATH or DT_RUNPATH "
           "($ORIGIN\n"
           "and $LIB replaced), in the folders that /etc/ld.so.conf names, and in the system's,\n"
           "those of other architectures among them; in each, what is for the newest processors\n"
           "goes first (glibc-hwcaps). LD_LIBRARY_PATH is left out. Symbolic links below the root\n"
           "lead where they lead there. It looks for the DLLs of a PE file beside the program;\n"
           "those of Windows itself are left out. A library that is not found is told: what it\n"
           "needs is not known.\n"
           "\n"
           "environment, for all but --audit:\n"
           "  CUSHIM_DRIVER=PATH   load exactly this file as the driver\n"
           "  CUSHIM_RUNTIME=PATH  load exactly this file as the runtime\n"
           "  CUSHIM_DISABLE=1     behave as if there were no CUDA library\n"
           "\n"
           "exit status:\n"
           "  0  the report was printed, on a machine without CUDA too; with --check: there is a\n"
           "     usable device; with --audit: all of the files start without CUDA\n"
           "  1  with --check: there is no usable device; with --audit: a file needs CUDA at\n"
           "     start-up; or the output could not be written\n"
           "  2  the command line was not understood; with --audit: a file could not be read, or\n"
           "     is no program or library, or the output could not be written\n";
}

} // namespace cushim_info
