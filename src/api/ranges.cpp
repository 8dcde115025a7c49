#include "ranges.hpp"

#include <cushim/device_span.hpp>

#include <cstdio>

namespace cushim::detail {

Error invalid_argument(const char *format, ...) noexcept {
    char text[400];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return Error::invalid_argument(text);
}

Result<std::size_t> bytes_of(std::size_t count, std::size_t element_size) noexcept {
    if (product_overflows(count, element_size)) {
        return invalid_argument("%zu elements of %zu bytes are more than an address space holds",
                                count, element_size);
    }
    return count * element_size;
}

Result<void> check_range(std::size_t offset, std::size_t count, std::size_t size) noexcept {
    if (offset > size || count > size - offset) {
        return invalid_argument("%zu from %zu on reach past the end, which is at %zu", count,
                                offset, size);
    }
    return {};
}

} // namespace cushim::detail
