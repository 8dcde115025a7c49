#include "ranges.hpp"

#include <cushim/device_span.hpp>

#include <cstdio>
#include <cstring>

namespace cushim::detail {

Error invalid_argument(const char *format, ...) noexcept {
    char text[400];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return Error::invalid_argument(text);
}

Error too_many_bytes(std::size_t count, std::size_t element_size, const char *function) noexcept {
    return named(function, invalid_argument("%zu elements of %zu bytes exceed the address space",
                                            count, element_size));
}

Error out_of_range(std::size_t offset, std::size_t count, std::size_t size, const char *unit,
                   const char *function) noexcept {
    const std::size_t letters = std::strlen(unit) - (size == 1 ? 1 : 0); // `unit` is a plural
    return named(function,
                 invalid_argument("range [%zu, %zu) exceeds the size of %zu %.*s", offset,
                                  end_of(offset, count), size, static_cast<int>(letters), unit));
}

Result<void> check_elements(CUdeviceptr address, std::size_t bytes, std::size_t element_size,
                            std::size_t alignment, const char *function) noexcept {
    if (bytes % element_size != 0) {
        return named(function,
                     invalid_argument("size %zu is not a multiple of the element size of %zu "
                                      "bytes",
                                      bytes, element_size));
    }
    if (address % alignment != 0) {
        return named(
            function,
            invalid_argument("address 0x%llx is not a multiple of the element alignment of %zu "
                             "bytes",
                             static_cast<unsigned long long>(address), alignment));
    }
    return {};
}

} // namespace cushim::detail
