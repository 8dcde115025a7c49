/* Copies and fills of linear memory.
 *
 * Each takes first what it runs by: a Context, and then it is done when the call returns; or a
 * Stream, and then it is queued there, and all of the memory, source and destination, must live and
 * stay untouched until the stream has got past it.
 *
 *     copy(context, buffer.span(), values)                 waits
 *     copy(stream, buffer.span(), pinned.span())           is queued
 *
 * By a Context it runs in that one's legacy stream: after all that is queued in its blocking
 * streams by then. Work in non-blocking streams must be waited for before.
 *
 * By a Stream and with host memory that is not pinned, the call itself may wait until the stream
 * gets there; do not rely on it.
 *
 * Source and destination have the same number of elements, else invalid_argument with both numbers;
 * copies of nothing never reach CUDA. Ranges must not overlap. Device memory may be of any context
 * and device of the process.
 *
 * Threads: any. Needs no current context and does not change it, but that the streams legacy() and
 * per_thread() are those of whatever context is current. Copies into a stream are queued with its context
 * current, since CUDA refuses some by what is: cuCtxGetCurrent and, where another one is, cuCtxPushCurrent_v2,
 * cuCtxPopCurrent_v2; of a borrowed stream cuStreamGetCtx, since CUDA 9.2.
 * Errors: invalid_argument, and what earlier work failed with.
 */
#ifndef CUSHIM_COPY_HPP
#define CUSHIM_COPY_HPP

#include <span>
#include <type_traits>
#include <utility>

#include <cushim/context.hpp>
#include <cushim/device_span.hpp>
#include <cushim/stream.hpp>

namespace cushim {
namespace detail {

enum class CopyKind : unsigned char { host_to_device, device_to_host, device_to_device };

struct Copy {
    CopyKind kind;
    unsigned long long to;   // an address, of the host or the device
    unsigned long long from; // likewise
    std::size_t to_size;     // elements
    std::size_t from_size;
    std::size_t element_size; // bytes
};

CUSHIM_API Result<void> copy(const Context &context, const Copy &copy) noexcept;
CUSHIM_API Result<void> copy(const Stream &stream, const Copy &copy) noexcept;

// One, two or four bytes, repeated.
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

/* What copies, fills and nodes of graphs see of memory: what span() gives of a buffer, a std::span of a contiguous
 * range. Views are left as they are. */
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
    requires(Memory &memory) {
    memory.span();
};
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

// What the compiler is not to deduce from: the destination says what T is.
template <class T>
using SourceSpan = std::span<const std::type_identity_t<T>>;

// What may be written to, and what CUDA can repeat.
template <class T>
concept WritableDeviceType = DeviceType<T> && !std::is_const_v<T>;
template <class T>
concept FillableDeviceType = WritableDeviceType<T> &&
    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4);

/* To the device.
 * cuMemcpyHtoD_v2, cuStreamSynchronize; cuMemcpyHtoDAsync_v2. Since CUDA 3.2. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, DeviceSpan<T> to, SourceSpan<T> from) noexcept {
    return detail::copy(way, {detail::CopyKind::host_to_device, to.address(),
                              detail::address_of(from.data()), to.size(), from.size(), sizeof(T)});
}

/* To the host.
 * cuMemcpyDtoH_v2; cuMemcpyDtoHAsync_v2. Since CUDA 3.2. */
template <detail::CopyWay Way, WritableDeviceType T, std::size_t Size>
Result<void> copy(const Way &way, std::span<T, Size> to,
                  DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return detail::copy(way, {detail::CopyKind::device_to_host, detail::address_of(to.data()),
                              from.address(), to.size(), from.size(), sizeof(T)});
}

/* Within the device, and from one to another.
 * cuMemcpy, cuStreamSynchronize; cuMemcpyAsync. Since CUDA 4.0. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, DeviceSpan<T> to,
                  DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return detail::copy(way, {detail::CopyKind::device_to_device, to.address(), from.address(),
                              to.size(), from.size(), sizeof(T)});
}

/* Every element becomes `value`, which has one, two or four bytes; the memory begins at a multiple
 * of them. cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async, by a Context cuStreamSynchronize,
 * too. Since CUDA 3.2. */
template <detail::CopyWay Way, FillableDeviceType T>
Result<void> fill(const Way &way, DeviceSpan<T> to, const std::type_identity_t<T> &value) noexcept {
    return detail::fill(way, {to.address(), to.size(), static_cast<unsigned int>(sizeof(T)),
                              detail::bits_of(value)});
}

/* The same with buffers and contiguous ranges in place of their spans: copy(stream, buffer, vector). What a range
 * holds must outlive work in a stream. */
template <detail::CopyWay Way, detail::MemoryWithView To, class From>
requires requires(const Way &way, detail::ViewOf<To> to, detail::ViewOf<const From> from) {
    copy(way, to, from);
}
Result<void> copy(const Way &way, To &&to, const From &from) noexcept {
    return copy(way, detail::view_of(to), detail::view_of(from));
}
template <detail::CopyWay Way, detail::MemoryWithView To>
requires requires(const Way &way, detail::ViewOf<To> to,
                  const typename detail::ViewOf<To>::element_type &value) {
    fill(way, to, value);
}
Result<void> fill(const Way &way, To &&to,
                  const typename detail::ViewOf<To>::element_type &value) noexcept {
    return fill(way, detail::view_of(to), value);
}

} // namespace cushim

#endif
