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

Result<void> check_elements(CUdeviceptr address, std::size_t bytes, std::size_t element_size,
                            std::size_t alignment) noexcept {
    if (bytes % element_size != 0) {
        return invalid_argument("%zu bytes are no whole number of elements of %zu", bytes,
                                element_size);
    }
    if (address % alignment != 0) {
        return invalid_argument("memory at 0x%llx for elements that are aligned to %zu",
                                static_cast<unsigned long long>(address), alignment);
    }
    return {};
}

} // namespace cushim::detail
