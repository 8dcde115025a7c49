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
        return invalid_argument("%zu elements of %zu bytes exceed the address space", count,
                                element_size);
    }
    return count * element_size;
}

Result<void> check_range(std::size_t offset, std::size_t count, std::size_t size) noexcept {
    if (offset > size || count > size - offset) {
        return invalid_argument("range of %zu at offset %zu exceeds the size, %zu", count, offset,
                                size);
    }
    return {};
}

Result<void> check_elements(CUdeviceptr address, std::size_t bytes, std::size_t element_size,
                            std::size_t alignment) noexcept {
    if (bytes % element_size != 0) {
        return invalid_argument("size %zu is not a multiple of the element size, %zu", bytes,
                                element_size);
    }
    if (address % alignment != 0) {
        return invalid_argument("address 0x%llx is not a multiple of the element alignment, %zu",
                                static_cast<unsigned long long>(address), alignment);
    }
    return {};
}

} // namespace cushim::detail
