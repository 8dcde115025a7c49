#include "base/setting_text.hpp"

#include <limits>
#include <utility>

namespace sim {

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
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

std::vector<SettingText> settings_in(std::string_view text) {
    std::vector<SettingText> all;
    for (const std::string &part : split(text, ';')) {
        if (part.empty()) {
            continue;
        }
        const std::string_view whole = part;
        const auto equals = whole.find('=');
        SettingText setting{part, std::string(trimmed(whole.substr(0, equals))), {}};
        if (equals != whole.npos) {
            setting.value = trimmed(whole.substr(equals + 1));
        }
        all.push_back(std::move(setting));
    }
    return all;
}

std::optional<std::size_t> size_of(std::string_view text) {
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

} // namespace sim
