#include "call/settings.hpp"
#include "base/immortal.hpp"
#include "base/setting_text.hpp"
#include "call/faults.hpp"
#include "call/kernel_files.hpp"

#include <functional>

namespace sim {
namespace {

bool assign_flag(bool &target, std::string_view text) {
    if (text == "0" || text == "1") {
        target = text == "1";
        return true;
    }
    return false;
}

// Whole pages, at least one.
bool set_granularity(std::string_view text) {
    const auto value = size_of(text);
    return value && *value != 0 && *value % 4096 == 0 && assign(settings().granularity, value);
}

// A version or a status, which cannot be negative.
std::optional<int> natural(std::string_view text) {
    const auto value = number<int>(text);
    return value && *value >= 0 ? value : std::nullopt;
}

bool set_mode(std::string_view text) {
    if (text == "immediate") {
        settings().mode = Mode::immediate;
    } else if (text == "threaded") {
        settings().mode = Mode::threaded;
    } else if (text == "adversarial") {
        settings().mode = Mode::adversarial;
    } else {
        return false;
    }
    return true;
}

bool set_report(std::string_view text) {
    if (text == "0") {
        settings().report = Report::none;
    } else if (text == "1") {
        settings().report = Report::print;
    } else if (text == "fail") {
        settings().report = Report::fail;
    } else {
        return false;
    }
    return true;
}

bool set_kernels(std::string_view path) {
    if (path.empty()) {
        return false;
    }
    add_kernel_file(std::string(path));
    return true;
}

bool apply(std::string_view key, std::string_view value) {
    Settings &s = settings();
    if (const auto understood = set_profile(s.machine, key, value)) {
        return *understood;
    }
    const std::pair<std::string_view, std::function<bool()>> known[] = {
        {"driver", [&] { return assign(s.driver, natural(value)); }},
        {"init", [&] { return assign(s.init, natural(value)); }},
        {"granularity", [&] { return set_granularity(value); }},
        {"addresses", [&] { return assign(s.addresses, size_of(value)); }},
        {"mode", [&] { return set_mode(value); }},
        {"seed", [&] { return assign(s.seed, number<std::uint64_t>(value)); }},
        {"fault", [&] { return plan_fault_of(value); }},
        {"kernels", [&] { return set_kernels(value); }},
        {"patience", [&] { return assign(s.patience_ms, number<std::uint64_t>(value)); }},
        {"stall", [&] { return assign(s.stall_ms, number<std::uint64_t>(value)); }},
        {"log", [&] { return assign_flag(s.log, value); }},
        {"report", [&] { return set_report(value); }},
        {"abort", [&] { return assign_flag(s.abort, value); }},
    };
    for (const auto &[name, set] : known) {
        if (name == key) {
            return set();
        }
    }
    return false;
}

std::string not_understood(const std::string &part) {
    return "not understood: '" + part + "'";
}

} // namespace

Settings &settings() noexcept {
    static Immortal<Settings> current;
    return *current;
}

std::optional<std::string> configure(std::string_view text) {
    for (const std::string &part : split(text, ';')) {
        if (part.empty()) {
            continue;
        }
        const auto equals = part.find('=');
        if (equals == std::string::npos) {
            return not_understood(part);
        }
        const auto key = trimmed(std::string_view(part).substr(0, equals));
        const auto value = trimmed(std::string_view(part).substr(equals + 1));
        if (!apply(key, value)) {
            return not_understood(part) +
                   (key == "fault" && !names_entry_point(value) ? " names no entry point" : "");
        }
    }
    return std::nullopt;
}

int driver_version() noexcept {
    return settings().driver != 0 ? settings().driver : sim_variant_version;
}

} // namespace sim
