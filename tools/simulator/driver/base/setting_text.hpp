// Parsing of settings. cushim-sim uses it, too.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

// The text without surrounding blanks.
std::string_view trimmed(std::string_view text);
// The parts between the separators, each trimmed; at least one part.
std::vector<std::string> split(std::string_view text, char separator);

// One setting of a text such as "devices=2;mode=threaded".
struct SettingText {
    std::string whole, key;
    std::optional<std::string> value; // none without '='
};
std::vector<SettingText> settings_in(std::string_view text);

// The number, if it is the whole text.
template <class T>
std::optional<T> number(std::string_view text) {
    T value{};
    const auto end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && rest == end ? std::optional<T>(value) : std::nullopt;
}

// 512MiB, 8GiB, 4096, 64KiB.
std::optional<std::size_t> size_of(std::string_view text);

template <class T>
bool assign(T &target, std::optional<T> value) {
    if (value) {
        target = *value;
    }
    return value.has_value();
}

} // namespace sim
