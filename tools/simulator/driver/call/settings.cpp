#include "settings.hpp"
#include "faults.hpp"
#include "setting_text.hpp"

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

// A version or a status: none is negative.
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
