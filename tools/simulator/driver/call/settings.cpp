#include "call/settings.hpp"
#include "base/immortal.hpp"
#include "base/setting_text.hpp"
#include "call/faults.hpp"
#include "call/kernel_files.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

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
    } else if (text == "errors") {
        settings().report = Report::errors;
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

struct Setting {
    std::string_view key, expected; // of its value
    bool (*set)(std::string_view value);
};
constexpr Setting known[] = {
    {"driver", "a version, such as 12040",
     [](auto value) { return assign(settings().driver, natural(value)); }},
    {"init", "a status, such as 100",
     [](auto value) { return assign(settings().init, natural(value)); }},
    {"granularity", "a size of whole pages of 4096 bytes", set_granularity},
    {"addresses", "a size, such as 64GiB",
     [](auto value) { return assign(settings().addresses, size_of(value)); }},
    {"mode", "immediate, threaded or adversarial", set_mode},
    {"seed", "a number",
     [](auto value) { return assign(settings().seed, number<std::uint64_t>(value)); }},
    {"fault", "ENTRY:NTH:CODE or ENTRY:p=PROBABILITY:CODE", plan_fault_of},
    {"kernels", "the path of a shared library", set_kernels},
    {"patience", "milliseconds",
     [](auto value) { return assign(settings().patience_ms, number<std::uint64_t>(value)); }},
    {"stall", "milliseconds",
     [](auto value) { return assign(settings().stall_ms, number<std::uint64_t>(value)); }},
    {"log", "0 or 1", [](auto value) { return assign_flag(settings().log, value); }},
    {"report", "0, 1, fail or errors", set_report},
    {"abort", "0 or 1", [](auto value) { return assign_flag(settings().abort, value); }},
};

// What set_profile() expects.
struct DeviceSetting {
    std::string_view key, expected;
    bool has_places = true; // as in name.D=
};
constexpr DeviceSetting of_devices[] = {
    {"devices", "0 to 16", false},
    {"name", "a text"},
    {"memory", "a size above 0, such as 512MiB"},
    {"budget", "a size, such as 512MiB"},
    {"cc", "a compute capability, such as 9.0"},
    {"peers", "all, none, or pairs of devices, such as 0-1,2-3", false},
    {"attribute", "attribute.NUMBER=VALUE, a number or unknown"},
};

bool set_value(std::string_view key, std::string_view value) {
    if (const auto understood = set_profile(settings().machine, key, value)) {
        return *understood;
    }
    const auto *const found = std::ranges::find(known, key, &Setting::key);
    return found != std::end(known) && found->set(value);
}

std::string not_understood(const std::string &part, std::string_view key) {
    const std::string text = "not understood: '" + part + "'";
    std::string keys;
    for (const auto &[name, expected, has_places] : of_devices) {
        if (key == name) {
            return text + ", expected " + std::string(expected);
        }
        if (has_places && key.starts_with(std::string(name) + '.')) {
            return text + ", expected " + std::string(expected) + ", for a device from 0 to 15";
        }
        keys.append(keys.empty() ? "" : ", ").append(name);
    }
    for (const Setting &setting : known) {
        if (key == setting.key) {
            return text + ", expected " + std::string(setting.expected);
        }
        keys.append(", ").append(setting.key);
    }
    return text + "; the settings are " + keys;
}

} // namespace

Settings &settings() noexcept {
    static Immortal<Settings> current;
    return *current;
}

std::optional<std::string> configure(std::string_view text) {
    for (const auto &[whole, key, value] : settings_in(text)) {
        if (!value || !set_value(key, *value)) {
            return value && key == "fault" && !names_entry_point(*value)
                       ? "not understood: '" + whole + "' names no entry point"
                       : not_understood(whole, key);
        }
    }
    return std::nullopt;
}

int driver_version() noexcept {
    return settings().driver != 0 ? settings().driver : sim_variant_version;
}

} // namespace sim
