/* The types that printing.hpp prints, and their text. */
#ifndef CUSHIM_DETAIL_PRINTABLE_HPP
#define CUSHIM_DETAIL_PRINTABLE_HPP

#include <string_view>
#include <type_traits>

#include <cushim/error.hpp>
#include <cushim/text.hpp>
#include <cushim/version.hpp>

namespace cushim::detail {

template <class T>
inline constexpr bool is_text = std::is_same_v<T, Text> || std::is_same_v<T, VersionText>;

template <class T>
concept HasText = requires(const T &object) { requires is_text<decltype(to_text(object))>; };

// Passes the text to `use`; it may be a temporary.
template <HasText T, class Use>
decltype(auto) with_text(const T &object, Use use) {
    return use(std::string_view(to_text(object).c_str()));
}
template <class T, class Use>
    requires is_text<T>
decltype(auto) with_text(const T &text, Use use) {
    return use(std::string_view(text.c_str()));
}
template <class Use>
decltype(auto) with_text(const Error &error, Use use) {
    return use(std::string_view(error.message()));
}

template <class T>
concept Printable = HasText<T> || is_text<T> || std::is_same_v<T, Error>;

} // namespace cushim::detail

#endif
