/* Checks of sizes, offsets and ranges. */
#ifndef CUSHIM_DETAIL_RANGES_HPP
#define CUSHIM_DETAIL_RANGES_HPP

#include <cstddef>

#include <cushim/detail/driver_headers.h>
#include <cushim/result.hpp>

namespace cushim::detail {

// Errors are invalid_argument. Headers pass the function that the program called.

constexpr bool product_overflows(std::size_t a, std::size_t b) noexcept {
    // Avoids the division for small factors, since it costs more than the rest of the call.
    constexpr int half = static_cast<int>(sizeof(std::size_t)) * 4;
    if (((a | b) >> half) == 0) {
        return false;
    }
    return b != 0 && a > static_cast<std::size_t>(-1) / b;
}

CUSHIM_COLD CUSHIM_API Error too_many_bytes(std::size_t count, std::size_t element_size,
                                            const char *function) noexcept;
CUSHIM_COLD CUSHIM_API Error out_of_range(std::size_t offset, std::size_t count, std::size_t size,
                                          const char *unit, const char *function) noexcept;

// The product, if it fits into std::size_t.
inline Result<std::size_t> bytes_of(std::size_t count, std::size_t element_size,
                                    const char *function = nullptr) noexcept {
    if (product_overflows(count, element_size)) [[unlikely]] {
        return too_many_bytes(count, element_size, function);
    }
    return count * element_size;
}
// That offset + count does not exceed the size; all are numbers of `unit`, a plural.
inline Result<void> check_range(std::size_t offset, std::size_t count, std::size_t size,
                                const char *unit = "bytes",
                                const char *function = nullptr) noexcept {
    if (offset > size || count > size - offset) [[unlikely]] {
        return out_of_range(offset, count, size, unit, function);
    }
    return {};
}
// That `bytes` is a multiple of the element size and the address one of the alignment.
CUSHIM_API Result<void> check_elements(CUdeviceptr address, std::size_t bytes,
                                       std::size_t element_size, std::size_t alignment,
                                       const char *function = nullptr) noexcept;

} // namespace cushim::detail

#endif
