/* Copies and fills without their element type, and the memory that they accept. */
#ifndef CUSHIM_DETAIL_COPY_HPP
#define CUSHIM_DETAIL_COPY_HPP

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cushim/detail/driver_headers.h>
#include <cushim/result.hpp>

namespace cushim {

class Context;
class Stream;

namespace detail {

// CUDA's types of memory in one number: that of the destination times 2^16, plus that of the
// source. Unified: on any device.
constexpr unsigned int memory_types(CUmemorytype from, CUmemorytype to) noexcept {
    return static_cast<unsigned int>(to) << 16 | static_cast<unsigned int>(from);
}
enum class CopyKind : unsigned int {
    host_to_device = memory_types(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED),
    device_to_host = memory_types(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_HOST),
    device_to_device = memory_types(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED)
};

struct Copy {
    CopyKind kind;
    unsigned long long to;   // an address, of the host or the device
    unsigned long long from; // the same
    std::size_t to_size;     // elements
    std::size_t from_size;
    std::size_t element_size; // bytes
};

CUSHIM_API Result<void> copy(const Context &context, const Copy &copy) noexcept;
CUSHIM_API Result<void> copy(const Stream &stream, const Copy &copy) noexcept;

// A value of one, two or four bytes.
struct Fill {
    CUdeviceptr to;
    std::size_t size; // elements
    unsigned int element_size;
    unsigned int value;
};

CUSHIM_API Result<void> fill(const Context &context, const Fill &fill) noexcept;
CUSHIM_API Result<void> fill(const Stream &stream, const Fill &fill) noexcept;

template <class Way>
concept CopyWay = std::is_same_v<Way, Context> || std::is_same_v<Way, Stream>;

inline unsigned long long address_of(const void *pointer) noexcept {
    return reinterpret_cast<unsigned long long>(pointer);
}

/* The view of memory that copies, fills and graph nodes use: span() of a buffer, a std::span of a
 * contiguous range. Views are unchanged. */
template <class Memory>
auto view_of(Memory &memory) noexcept {
    if constexpr (requires { memory.span(); }) {
        return memory.span();
    } else if constexpr (requires { std::span(memory); }) {
        return std::span(memory);
    } else {
        return memory;
    }
}
template <class Memory>
using ViewOf = decltype(view_of(std::declval<Memory &>()));

template <class Memory>
concept MemoryView = std::is_same_v<std::remove_cvref_t<Memory>, ViewOf<Memory>>;
// Not a temporary that holds its elements.
template <class Memory>
concept LastingMemory = std::is_lvalue_reference_v<Memory> || MemoryView<Memory> ||
                        requires(Memory &memory) { memory.span(); };
// A buffer, or a range with a name.
template <class Memory>
concept MemoryWithView = !MemoryView<Memory> && LastingMemory<Memory>;

template <class T>
unsigned int bits_of(const T &value) noexcept {
    if constexpr (sizeof(T) == 1) {
        return __builtin_bit_cast(unsigned char, value);
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bit_cast(unsigned short, value);
    } else {
        return __builtin_bit_cast(unsigned int, value);
    }
}

} // namespace detail
} // namespace cushim

#endif
