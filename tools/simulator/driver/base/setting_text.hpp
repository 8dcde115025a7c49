// Pieces of the text of settings.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

// Without blanks around it.
std::string_view trimmed(std::string_view text);
// What lies between the separators, each trimmed; one part at least.
std::vector<std::string> split(std::string_view text, char separator);

// A number that is the whole text.
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
