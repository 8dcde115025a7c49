/* Numbers as text in constant expressions. Includes nothing. */
#ifndef CUSHIM_DETAIL_APPEND_DECIMAL_HPP
#define CUSHIM_DETAIL_APPEND_DECIMAL_HPP

namespace cushim::detail {

// Appends a non-negative number in decimal, and returns the end of the text.
constexpr char *append_decimal(char *out, int number) noexcept {
    char digits[10] = {};
    int count = 0;
    do {
        digits[count++] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count != 0) {
        *out++ = digits[--count];
    }
    return out;
}

} // namespace cushim::detail

#endif
