// Types that the runtime and the driver declare under two names: enumerations with equal values and
// structures with equal layout. All conversions between them are here.
#pragma once

#include "runtime/base/runtime_headers.hpp"

#include <bit>
#include <type_traits>

namespace sim::runtime {

// Converts an enumerator to the other library's type; driver_equivalents.cpp checks the values.
template <class To, class From>
constexpr To same(From from) noexcept {
    static_assert(std::is_enum_v<To> || std::is_integral_v<To>);
    static_assert(std::is_enum_v<From> || std::is_integral_v<From>);
    return static_cast<To>(from);
}

template <class To, class From>
constexpr bool same_layout = sizeof(To) == sizeof(From) && alignof(To) == alignof(From) &&
                             std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>;

// Copies a structure to the other library's type.
template <class To, class From>
To same_struct(const From &from) noexcept {
    static_assert(same_layout<To, From>);
    return std::bit_cast<To>(from);
}

// A client's structure, array or output, as a pointer to the other library's type. Null stays null.
template <class To, class From>
To *same_memory(From *from) noexcept {
    static_assert(same_layout<std::remove_const_t<To>, std::remove_const_t<From>>);
    return reinterpret_cast<To *>(from);
}

// Handles with different type names in the two libraries.
inline CUarray array_of(cudaArray_const_t array) noexcept {
    return reinterpret_cast<CUarray>(const_cast<cudaArray *>(array));
}
inline CUarray *array_out(cudaArray_t *array) noexcept {
    return reinterpret_cast<CUarray *>(array);
}
inline cudaArray_t array_of(CUarray array) noexcept {
    return reinterpret_cast<cudaArray_t>(array);
}
inline CUmipmappedArray mipmapped_of(cudaMipmappedArray_const_t array) noexcept {
    return reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray *>(array));
}
inline CUmipmappedArray *mipmapped_out(cudaMipmappedArray_t *array) noexcept {
    return reinterpret_cast<CUmipmappedArray *>(array);
}
inline cudaMipmappedArray_t mipmapped_of(CUmipmappedArray array) noexcept {
    return reinterpret_cast<cudaMipmappedArray_t>(array);
}

inline CUexternalMemory memory_of(cudaExternalMemory_t memory) noexcept {
    return reinterpret_cast<CUexternalMemory>(memory);
}
inline const CUexternalSemaphore *
semaphores_of(const cudaExternalSemaphore_t *semaphores) noexcept {
    return reinterpret_cast<const CUexternalSemaphore *>(semaphores);
}

} // namespace sim::runtime
