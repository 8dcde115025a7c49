// The text form of device settings.
#include "base/device_profile.hpp"
#include "base/setting_text.hpp"

#include <algorithm>

namespace sim {
namespace {

std::optional<int> place_in(std::string_view text) {
    const auto place = number<int>(text);
    return place && *place >= 0 && *place < most_devices ? place : std::nullopt;
}

bool set_name(Profile &profile, std::string_view text) {
    if (!text.empty()) {
        profile.name = std::string(text);
    }
    return !text.empty();
}

bool set_memory(Profile &profile, std::string_view text) {
    const auto size = size_of(text);
    if (size && *size != 0) {
        profile.memory = size;
        return true;
    }
    return false;
}

bool set_budget(Profile &profile, std::string_view text) {
    const auto size = size_of(text);
    if (size) {
        profile.budget = size;
    }
    return size.has_value();
}

// MAJOR.MINOR
bool set_capability(Profile &profile, std::string_view text) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) {
        return false;
    }
    const auto major = number<int>(text.substr(0, dot));
    const auto minor = number<int>(text.substr(dot + 1));
    if (major && minor) {
        profile.capability = Capability{*major, *minor};
    }
    return major && minor;
}

bool set_attribute(Profile &profile, std::string_view which, std::string_view text) {
    const auto attribute = number<int>(which);
    const auto value = number<int>(text);
    if (!attribute || (text != "unknown" && !value)) {
        return false;
    }
    profile.attributes[*attribute] = value;
    return true;
}

bool set_devices(Machine &machine, std::string_view text) {
    const auto count = number<int>(text);
    return count && *count >= 0 && *count <= most_devices && assign(machine.devices, count);
}

// all, none, or pairs: 0-1,2-3
bool set_peers(Machine &machine, std::string_view text) {
    if (text == "all") {
        machine.peers.reset();
        return true;
    }
    std::set<std::pair<int, int>> pairs;
    if (text != "none") {
        for (const std::string &pair : split(text, ',')) {
            const auto ends = split(pair, '-');
            const auto first = place_in(ends.front()), second = place_in(ends.back());
            if (ends.size() != 2 || !first || !second || *first == *second) {
                return false;
            }
            pairs.insert(std::minmax(*first, *second));
        }
    }
    machine.peers = std::move(pairs);
    return true;
}

// A key of a profile: its first word, an optional place, and the rest.
struct Key {
    std::string_view word;
    std::optional<std::string_view> place;
    std::string_view attribute;
};

Key read_key(std::string_view text) {
    const auto dot = text.find('.');
    Key key{text.substr(0, dot), {}, {}};
    if (dot == std::string_view::npos) {
        return key;
    }
    std::string_view rest = text.substr(dot + 1);
    if (key.word == "attribute") {
        const auto second = rest.find('.');
        if (second != std::string_view::npos) {
            key.place = rest.substr(0, second);
            rest.remove_prefix(second + 1);
        }
        key.attribute = rest;
    } else {
        key.place = rest;
    }
    return key;
}

bool set_of(Profile &profile, const Key &key, std::string_view value) {
    return key.word == "name"     ? set_name(profile, value)
           : key.word == "memory" ? set_memory(profile, value)
           : key.word == "budget" ? set_budget(profile, value)
           : key.word == "cc"     ? set_capability(profile, value)
                                  : set_attribute(profile, key.attribute, value);
}

} // namespace

std::optional<bool> set_profile(Machine &machine, std::string_view text, std::string_view value) {
    if (text == "devices") {
        return set_devices(machine, value);
    }
    if (text == "peers") {
        return set_peers(machine, value);
    }
    const Key key = read_key(text);
    const bool known = key.word == "name" || key.word == "memory" || key.word == "budget" ||
                       key.word == "cc" || key.word == "attribute";
    if (!known) {
        return std::nullopt;
    }
    if (!key.place) {
        return set_of(machine.all, key, value);
    }
    const auto place = place_in(*key.place);
    return place && set_of(machine.own[*place], key, value);
}

} // namespace sim
