// cushim-info: reports the CUDA libraries and devices that cushim finds, and problems with them; or
// audits whether programs need CUDA libraries.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "audit.hpp"
#include "gather.hpp"
#include "options.hpp"
#include "output.hpp"

namespace {

constexpr int exit_ok = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_not_audited = 2;

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

// Errors of the audit itself have another exit status than "needs CUDA".
int audit(const cushim_info::Options &options) {
    const cushim_info::LibrarySearch search(options.root);
    std::vector<cushim_info::Audit> audits;
    audits.reserve(options.binaries.size());
    for (const std::string &binary : options.binaries) {
        audits.push_back(cushim_info::audit_file(binary, search));
    }
    const int printed = print(options.json ? audits_as_json(audits, cushim_version())
                                           : cushim_info::audits_as_text(audits));
    return printed == exit_ok ? exit_status(audits) : exit_not_audited;
}

int run(const cushim_info::Options &options) {
    if (options.help) {
        return print(cushim_info::help_text());
    }
    if (options.version) {
        return print(std::string("cushim-info ") + cushim_version() + ", CUDA " +
                     cushim_info::version_text(cushim_headers_version()) + " headers\n");
    }
    if (options.audit) {
        return audit(options);
    }
    const cushim_info::Info info = cushim_info::gather();
    const int printed = print_report(info, options);
    return options.check && printed == exit_ok ? check(info) : printed;
}

} // namespace

int main(int argc, char **argv) {
    int on_failure = exit_failed;
    try {
        const std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
        const cushim_info::Options options = cushim_info::parse_options(arguments);
        if (!options.error.empty()) {
            std::fprintf(stderr, "cushim-info: %s; see cushim-info --help\n",
                         options.error.c_str());
            return exit_usage;
        }
        on_failure = options.audit ? exit_not_audited : exit_failed;
        return run(options);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "cushim-info: %s\n", error.what());
        return on_failure;
    }
}
