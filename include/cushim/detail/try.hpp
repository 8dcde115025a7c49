/* How CUSHIM_TRY expands. */
#ifndef CUSHIM_DETAIL_TRY_HPP
#define CUSHIM_DETAIL_TRY_HPP

#include <cushim/detail/cpp20.hpp>

namespace cushim::detail {

// The operand of CUSHIM_TRY; a temporary lives as long as this. It is not `auto &&` with decltype,
// so that an operand that does not compile is one error only.
template <class R>
struct Tried {
    R &&result;

    bool failed() const noexcept { return !result.has_value(); }
    decltype(auto) error() const noexcept { return static_cast<R &&>(result).error(); }
    decltype(auto) value() const noexcept { return *static_cast<R &&>(result); }
};
template <class R>
Tried(R &&) -> Tried<R>;

} // namespace cushim::detail

// The headers use these two macros, with a fixed name: with a counter, an inline function would
// differ between translation units.
#define CUSHIM_DETAIL_JOIN_NOW(a, b) a##b
#define CUSHIM_DETAIL_JOIN(a, b) CUSHIM_DETAIL_JOIN_NOW(a, b)
#define CUSHIM_DETAIL_TRY(tried, declaration, ...)                                                 \
    const ::cushim::detail::Tried tried{(__VA_ARGS__)};                                            \
    if (tried.failed()) [[unlikely]] {                                                             \
        return tried.error();                                                                      \
    }                                                                                              \
    declaration = tried.value()
#define CUSHIM_DETAIL_TRY_VOID(tried, ...)                                                         \
    do {                                                                                           \
        const ::cushim::detail::Tried tried{(__VA_ARGS__)};                                        \
        if (tried.failed()) [[unlikely]] {                                                         \
            return tried.error();                                                                  \
        }                                                                                          \
    } while (false)

#endif
