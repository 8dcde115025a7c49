// Checked sums, products and ranges. Error messages contain the numbers.
#pragma once

#include <cushim/result.hpp>

#include <cstdarg>
#include <cstddef>
#include <limits>

namespace cushim::detail {

// invalid_argument with a printf-style text, truncated after a few hundred bytes.
#if defined(__MINGW32__)
[[gnu::format(gnu_printf, 1, 2)]]
#elif defined(__GNUC__)
[[gnu::format(printf, 1, 2)]]
#endif
Error invalid_argument(const char *format, ...) noexcept;

constexpr bool sum_overflows(std::size_t a, std::size_t b) noexcept {
    return a > std::numeric_limits<std::size_t>::max() - b;
}

constexpr bool product_overflows(std::size_t a, std::size_t b) noexcept {
    // Avoids the division for small factors, since it costs more than the rest of the call.
    constexpr int half = std::numeric_limits<std::size_t>::digits / 2;
    if (((a | b) >> half) == 0) {
        return false;
    }
    return b != 0 && a > std::numeric_limits<std::size_t>::max() / b;
}

} // namespace cushim::detail
