#include "settings.hpp"
#include "faults.hpp"
#include "platform.hpp"

#include <charconv>
#include <functional>
#include <limits>
#include <vector>

namespace sim {
namespace {

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

template <class T>
std::optional<T> number(std::string_view text) {
    T value{};
    const auto end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && rest == end ? std::optional<T>(value) : std::nullopt;
}

// 512MiB, 8GiB, 4096, 64KiB.
std::optional<std::size_t> size(std::string_view text) {
    constexpr std::pair<std::string_view, int> units[] = {
        {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
    int shift = 0;
    for (const auto &[unit, bits] : units) {
        if (text.ends_with(unit)) {
            text.remove_suffix(unit.size());
            shift = bits;
        }
    }
    const auto value = number<std::size_t>(text);
    if (!value || *value > (std::numeric_limits<std::size_t>::max() >> shift)) {
        return std::nullopt;
    }
    return *value << shift;
}

template <class T>
bool assign(T &target, std::optional<T> value) {
    if (value) {
        target = *value;
    }
    return value.has_value();
}

bool assign_flag(bool &target, std::string_view text) {
    target = text == "1";
    return text == "0" || text == "1";
}

bool set_capability(std::string_view text) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) {
        return false;
    }
    return assign(settings().cc_major, number<int>(text.substr(0, dot))) &&
           assign(settings().cc_minor, number<int>(text.substr(dot + 1)));
}

bool set_devices(std::string_view text) {
    const auto count = number<int>(text);
    return count && *count >= 0 && *count <= 16 && assign(settings().devices, count);
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

bool set_peers(std::string_view text) {
    settings().peers = text == "all";
    return text == "all" || text == "none";
}

bool set_attribute(std::string_view key, std::string_view text) {
    const auto attribute = number<int>(key);
    if (!attribute) {
        return false;
    }
    std::optional<int> value;
    if (text != "unknown" && !(value = number<int>(text))) {
        return false;
    }
    settings().attributes[*attribute] = value;
    return true;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        const auto end = text.find(separator);
        parts.emplace_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

// ENTRY:NTH:CODE[:KIND]
bool set_fault(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() < 3 || parts.size() > 4) {
        return false;
    }
    const auto nth = number<std::uint64_t>(parts[1]);
    const auto code = number<int>(parts[2]);
    const std::string kind = parts.size() == 4 ? parts[3] : "instead";
    if (!nth || !code) {
        return false;
    }
    cushim_sim_fault fault{};
    fault.entry = parts[0].c_str();
    fault.nth = *nth;
    fault.code = *code;
    if (kind == "instead") {
        fault.kind = CUSHIM_SIM_FAULT_INSTEAD;
    } else if (kind == "after") {
        fault.kind = CUSHIM_SIM_FAULT_AFTER;
    } else if (kind == "async") {
        fault.kind = CUSHIM_SIM_FAULT_ASYNC;
    } else {
        return false;
    }
    return plan_fault(fault) != 0;
}

bool apply(std::string_view key, std::string_view value) {
    Settings &s = settings();
    if (key.starts_with("attribute.")) {
        return set_attribute(key.substr(10), value);
    }
    const std::pair<std::string_view, std::function<bool()>> known[] = {
        {"devices", [&] { return set_devices(value); }},
        {"name",
         [&] {
             s.name = value;
             return !value.empty();
         }},
        {"memory", [&] { return assign(s.memory, size(value)); }},
        {"budget",
         [&] {
             s.budget = size(value);
             return s.budget.has_value();
         }},
        {"cc", [&] { return set_capability(value); }},
        {"peers", [&] { return set_peers(value); }},
        {"driver", [&] { return assign(s.driver, number<int>(value)); }},
        {"init", [&] { return assign(s.init, number<int>(value)); }},
        {"granularity", [&] { return assign(s.granularity, size(value)) && s.granularity > 0; }},
        {"mode", [&] { return set_mode(value); }},
        {"seed", [&] { return assign(s.seed, number<std::uint64_t>(value)); }},
        {"fault", [&] { return set_fault(value); }},
        {"patience", [&] { return assign(s.patience_ms, number<std::uint64_t>(value)); }},
        {"stall", [&] { return assign(s.stall_ms, number<std::uint64_t>(value)); }},
        {"log", [&] { return assign_flag(s.log, value); }},
        {"report", [&] { return assign_flag(s.report, value); }},
        {"abort", [&] { return assign_flag(s.abort, value); }},
    };
    for (const auto &[name, set] : known) {
        if (name == key) {
            return set();
        }
    }
    return false;
}

} // namespace

Settings &settings() noexcept {
    static auto *current = new Settings; // used after static destructors
    return *current;
}

std::optional<std::string> configure(std::string_view text) {
    for (const std::string &part : split(text, ';')) {
        if (part.empty()) {
            continue;
        }
        const auto equals = part.find('=');
        if (equals == std::string::npos ||
            !apply(trimmed(std::string_view(part).substr(0, equals)),
                   trimmed(std::string_view(part).substr(equals + 1)))) {
            return "not understood: '" + part + "'";
        }
    }
    return std::nullopt;
}

int driver_version() noexcept {
    return settings().driver != 0 ? settings().driver : sim_variant_version;
}

} // namespace sim
