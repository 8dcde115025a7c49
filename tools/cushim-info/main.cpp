// cushim-info: reports the CUDA libraries and devices that cushim finds, and problems with them.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "gather.hpp"
#include "options.hpp"
#include "output.hpp"

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

int run(const cushim_info::Options &options) {
    if (options.help) {
        return print(cushim_info::help_text());
    }
    if (options.version) {
        return print(std::string("cushim-info ") + cushim_version() + ", CUDA " +
                     cushim_info::version_text(cushim_headers_version()) + " headers\n");
    }
    const cushim_info::Info info = cushim_info::gather();
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
