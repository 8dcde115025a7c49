// Checked sums, products and ranges. Error messages contain the numbers.
#pragma once

#include <cushim/detail/ranges.hpp>
#include <cushim/result.hpp>

#include <cstdarg>
#include <cstddef>
#include <limits>

#include "explained.hpp"

namespace cushim::detail {

// invalid_argument with a printf-style text, truncated after a few hundred bytes.
CUSHIM_PRINTF(1, 2) Error invalid_argument(const char *format, ...) noexcept;

// The ending of a unit after its number: "%zu byte%s".
constexpr const char *plural(std::size_t number) noexcept {
    return number == 1 ? "" : "s";
}

constexpr bool sum_overflows(std::size_t a, std::size_t b) noexcept {
    return a > std::numeric_limits<std::size_t>::max() - b;
}

// The end of a range in a message: the largest number if the sum overflows.
constexpr std::size_t end_of(std::size_t offset, std::size_t count) noexcept {
    return sum_overflows(offset, count) ? std::numeric_limits<std::size_t>::max() : offset + count;
}

} // namespace cushim::detail
