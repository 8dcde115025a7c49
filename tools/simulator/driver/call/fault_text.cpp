// The text form of a planned fault: ENTRY:NTH:CODE and its options.
#include "base/setting_text.hpp"
#include "call/faults.hpp"

#include <algorithm>

namespace sim {
namespace {

// A decimal fraction in (0, 1], independent of the locale.
std::optional<double> probability(std::string_view text) {
    const auto dot = std::min(text.find('.'), text.size());
    const std::string_view digits = text.substr(std::min(dot + 1, text.size()));
    const auto whole = number<unsigned int>(text.substr(0, dot));
    const auto fraction = dot == text.size() ? 0U : number<unsigned int>(digits);
    if (!whole || !fraction || digits.size() > 9) {
        return std::nullopt;
    }
    double value = *fraction;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        value /= 10;
    }
    value += *whole;
    return value > 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

// The options that set the kind; a fault has at most one.
bool set_kind(cushim_sim_fault &fault, std::string_view option) {
    if (option == "instead") {
        fault.kind = CUSHIM_SIM_FAULT_INSTEAD;
    } else if (option == "after") {
        fault.kind = CUSHIM_SIM_FAULT_AFTER;
    } else if (option == "async") {
        fault.kind = CUSHIM_SIM_FAULT_ASYNC;
    } else if (option == "hang") {
        fault.kind = CUSHIM_SIM_FAULT_HANG;
    } else if (option.starts_with("delay=")) {
        fault.kind = CUSHIM_SIM_FAULT_DELAY;
        return assign(fault.delay_us, number<std::uint64_t>(option.substr(6)));
    } else {
        return false;
    }
    return true;
}

bool set_choice(cushim_sim_fault &fault, std::string_view option) {
    if (option == "sticky") {
        fault.sticky = 1;
        return true;
    }
    if (option == "optional") {
        fault.optional = 1;
        return true;
    }
    if (option.starts_with("p=")) {
        return assign(fault.probability, probability(option.substr(2)));
    }
    return option.starts_with("seed=") &&
           assign(fault.seed, number<std::uint64_t>(option.substr(5)));
}

} // namespace

bool names_entry_point(std::string_view text) {
    return is_entry_point(split(text, ':').front());
}

bool plan_fault_of(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() < 3) {
        return false;
    }
    cushim_sim_fault fault{};
    fault.entry = parts[0].c_str();
    const bool has_turn = parts[1].starts_with("p=")
                              ? set_choice(fault, parts[1])
                              : assign(fault.nth, number<std::uint64_t>(parts[1]));
    if (!has_turn || !assign(fault.code, number<int>(parts[2]))) {
        return false;
    }
    bool has_kind = false;
    for (std::size_t i = 3; i < parts.size(); ++i) {
        const bool is_kind = !has_kind && set_kind(fault, parts[i]);
        if (!is_kind && !set_choice(fault, parts[i])) {
            return false;
        }
        has_kind = has_kind || is_kind;
    }
    return plan_fault(fault) != 0;
}

} // namespace sim
