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

// For messages. Keys of devices end at a dot.
struct Expected {
    std::string_view key, values;
};
constexpr Expected expected_values[] = {
    {"devices", "0 to 16"},
    {"name", "a text"},
    {"memory", "a size above 0, such as 512MiB"},
    {"budget", "a size, such as 512MiB"},
    {"cc", "a compute capability, such as 9.0"},
    {"peers", "all, none, or pairs of devices, such as 0-1,2-3"},
    {"driver", "a version, such as 12040"},
    {"init", "a status, such as 100"},
    {"granularity", "a size of whole pages of 4096 bytes"},
    {"addresses", "a size, such as 64GiB"},
    {"attribute", "attribute.NUMBER=VALUE, a number or unknown"},
    {"mode", "immediate, threaded or adversarial"},
    {"seed", "a number"},
    {"stall", "milliseconds"},
    {"patience", "milliseconds"},
    {"fault", "ENTRY:NTH:CODE or ENTRY:p=PROBABILITY:CODE"},
    {"kernels", "the path of a shared library"},
    {"log", "0 or 1"},
    {"report", "0, 1 or fail"},
    {"abort", "0 or 1"},
};

// What is expected instead.
std::string expected_for(std::string_view key) {
    std::string keys;
    for (const Expected &setting : expected_values) {
        if (setting.key == key.substr(0, key.find('.'))) {
            return ", expected " + std::string(setting.values);
        }
        keys.append(keys.empty() ? "; the settings are " : ", ").append(setting.key);
    }
    return keys;
}

std::string not_understood(const std::string &part, std::string_view key) {
    return "not understood: '" + part + "'" + expected_for(key);
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
            return not_understood(part, part);
        }
        const auto key = trimmed(std::string_view(part).substr(0, equals));
        const auto value = trimmed(std::string_view(part).substr(equals + 1));
        if (!apply(key, value)) {
            return key == "fault" && !names_entry_point(value)
                       ? "not understood: '" + part + "' names no entry point"
                       : not_understood(part, key);
        }
    }
    return std::nullopt;
}

int driver_version() noexcept {
    return settings().driver != 0 ? settings().driver : sim_variant_version;
}

} // namespace sim
