// cushim-info: reports the CUDA libraries and devices that cushim finds, and problems with them.
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "gather.hpp"
#include "options.hpp"
#include "output.hpp"

#ifdef SIGBUS
#include <unistd.h>
#endif

namespace {

constexpr int exit_ok = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

int print(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) {
        std::fputs("cushim-info: cannot write the output\n", stderr);
        return exit_failed;
    }
    return exit_ok;
}

int print_report(const cushim_info::Info &info, const cushim_info::Options &options) {
    if (options.json) {
        return print(report_as_json(info, options.symbols));
    }
    if (options.symbols) {
        return print(symbols_as_text(info));
    }
    return options.check ? exit_ok : print(report_as_text(info));
}

int check(const cushim_info::Info &info) {
    const std::string why_not = why_no_usable_device(info);
    if (why_not.empty()) {
        return exit_ok;
    }
    std::fprintf(stderr, "cushim-info: %s\n", why_not.c_str());
    return exit_failed;
}

// Found from this program's own file, so that an installation can be moved.
int print_link_dir() {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const fs::path folder = (program.parent_path() / CUSHIM_LINK_DIR).lexically_normal();
    if (error || !fs::is_directory(folder, error)) {
        std::fprintf(stderr, "cushim-info: %s does not exist; it is installed on Linux, by Meson\n",
                     folder.string().c_str());
        return exit_failed;
    }
    return print(folder.string() + "\n");
}

#ifdef SIGBUS
// cushim skips truncated libraries, but the dynamic linker also loads what a library needs.
void report_truncated_library(int) {
    constexpr std::string_view text =
        "cushim-info: stopped by SIGBUS: a library that CUDA's libraries need is probably "
        "truncated. LD_DEBUG=files cushim-info prints its name last\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
    _exit(exit_failed);
}
#endif

int run(const cushim_info::Options &options) {
    if (options.help) {
        return print(cushim_info::help_text());
    }
    if (options.version) {
        return print(std::string("cushim-info ") + cushim_version() + ", CUDA " +
                     cushim_info::version_text(cushim_headers_version()) + " headers\n");
    }
    if (options.link_dir) {
        return print_link_dir();
    }
#ifdef SIGBUS
    std::signal(SIGBUS, report_truncated_library);
#endif
    const cushim_info::Info info = cushim_info::gather();
#ifdef SIGBUS
    std::signal(SIGBUS, SIG_DFL);
#endif
    const int printed = print_report(info, options);
    return options.check && printed == exit_ok ? check(info) : printed;
}

} // namespace

int main(int argc, char **argv) {
    try {
        const std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
        const cushim_info::Options options = cushim_info::parse_options(arguments);
        if (!options.error.empty()) {
            std::fprintf(stderr, "cushim-info: %s; see cushim-info --help\n",
                         options.error.c_str());
            return exit_usage;
        }
        return run(options);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "cushim-info: %s\n", error.what());
        return exit_failed;
    }
}
