// CUSHIM_TRY: takes the value of a Result, or returns its error from the enclosing function.
//
// Include result.hpp, which includes this file and has an example.
#ifndef CUSHIM_TRY_HPP
#define CUSHIM_TRY_HPP

#include <cushim/detail/config.h>

namespace cushim {
namespace detail {

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

} // namespace detail
} // namespace cushim

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

// CUSHIM_TRY(auto buffer, allocate(1 << 20)); declares buffer with the value of the Result, or
// returns its error from the enclosing function, which must return a Result of any type. A
// temporary is moved from; a named Result is copied, unless it is passed through std::move. The
// declaration is anything that can stand left of `=` and has no comma. The macro expands to several
// statements: use braces after `if`, and one macro per line.
#define CUSHIM_TRY(declaration, ...)                                                               \
    CUSHIM_DETAIL_TRY(CUSHIM_DETAIL_JOIN(cushim_try_, __LINE__), declaration, __VA_ARGS__)

// The same without a value. One statement.
#define CUSHIM_TRY_VOID(...)                                                                       \
    CUSHIM_DETAIL_TRY_VOID(CUSHIM_DETAIL_JOIN(cushim_try_, __LINE__), __VA_ARGS__)

#endif
