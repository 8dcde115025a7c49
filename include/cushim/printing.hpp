/* operator<< and, if the standard library has <format>, std::formatter: for everything that has
 * to_text() (text.hpp), for Text itself, for Version, and for Error.
 *
 *     std::cout << stream << '\n';
 *     std::format("{:>40} {}", stream, result.error());        width and precision as for strings
 *
 * An Error prints its message(), which may ask CUDA for the name of a status.
 * Include it where you print: no other header includes it.
 */
#ifndef CUSHIM_PRINTING_HPP
#define CUSHIM_PRINTING_HPP

#include <ostream>
#include <string_view>
#include <version>
#ifdef __cpp_lib_format
#include <format>
#endif

#include <cushim/detail/printable.hpp>

namespace cushim {

// Writes the text of an object, a Version, a Text or an Error to a stream.
template <detail::Printable T>
std::ostream &operator<<(std::ostream &out, const T &object) {
    return detail::with_text(object,
                             [&](std::string_view text) -> std::ostream & { return out << text; });
}

} // namespace cushim

#ifdef __cpp_lib_format
// Formats the same, with the format specifications of strings.
template <cushim::detail::Printable T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
    // Formats the text of the object.
    template <class Context>
    auto format(const T &object, Context &context) const {
        return cushim::detail::with_text(object, [&](std::string_view text) {
            return std::formatter<std::string_view, char>::format(text, context);
        });
    }
};
#endif

#endif
