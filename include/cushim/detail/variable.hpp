/* A variable in device code, before its type is known. */
#ifndef CUSHIM_DETAIL_VARIABLE_HPP
#define CUSHIM_DETAIL_VARIABLE_HPP

#include <cstddef>

#include <cushim/device_span.hpp>

namespace cushim::detail {

// The number of elements; invalid_argument unless `bytes` is a multiple of the element size.
CUSHIM_API Result<std::size_t> elements_of(const char *name, std::size_t bytes,
                                           std::size_t element_size) noexcept;

struct Variable {
    CUdeviceptr address;
    std::size_t bytes;

    template <class T>
    Result<DeviceSpan<T>> as(const char *name) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const std::size_t size,
                          elements_of(name, bytes, sizeof(T)));
        return DeviceSpan<T>(address, size);
    }
};

} // namespace cushim::detail

#endif
