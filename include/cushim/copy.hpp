/* Copies and fills of linear memory.
 *
 *     copy(context, buffer.span(), values)                 waits
 *     copy(stream, buffer.span(), pinned.span())           enqueues
 *
 * With a Context, the operation has completed when the call returns. It runs in the legacy stream
 * of that context, after all work enqueued in its blocking streams. Work in non-blocking streams
 * must be waited for before.
 *
 * With a Stream, the operation is enqueued. Source and destination must stay alive and unchanged
 * until the stream has passed it. If the host memory is not pinned, the call may wait until the
 * stream reaches it.
 *
 * Source and destination must have the same number of elements, or the call fails with
 * invalid_argument and both numbers. They must not overlap. Empty copies make no CUDA call. Device
 * memory may belong to any context and device of the process.
 *
 * Threads: any.
 * Context: none required, none changed. legacy() and per_thread() refer to the context that is
 * current when they are used. A stream's own context is current while work is enqueued in it,
 * because CUDA rejects some copies otherwise: cuCtxGetCurrent and, if necessary,
 * cuCtxPushCurrent_v2, cuCtxPopCurrent_v2; for a borrowed stream cuStreamGetCtx (CUDA 9.2).
 * Errors: invalid_argument; the status of the CUDA call, which may report a failure of earlier
 * asynchronous work.
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

// Not deduced: the destination determines T.
template <class T>
using SourceSpan = std::span<const std::type_identity_t<T>>;

// Types that can be written, and types that fill() can repeat.
template <class T>
concept WritableDeviceType = DeviceType<T> && !std::is_const_v<T>;
template <class T>
concept FillableDeviceType =
    WritableDeviceType<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4);

/* Host to device.
 * cuMemcpyHtoD_v2, cuStreamSynchronize; cuMemcpyHtoDAsync_v2. Since CUDA 3.2. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, DeviceSpan<T> to, SourceSpan<T> from) noexcept {
    return detail::copy(way, {detail::CopyKind::host_to_device, to.address(),
                              detail::address_of(from.data()), to.size(), from.size(), sizeof(T)});
}

/* Device to host.
 * cuMemcpyDtoH_v2; cuMemcpyDtoHAsync_v2. Since CUDA 3.2. */
template <detail::CopyWay Way, WritableDeviceType T, std::size_t Size>
Result<void> copy(const Way &way, std::span<T, Size> to,
                  DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return detail::copy(way, {detail::CopyKind::device_to_host, detail::address_of(to.data()),
                              from.address(), to.size(), from.size(), sizeof(T)});
}

/* Within a device, and between devices.
 * cuMemcpy, cuStreamSynchronize; cuMemcpyAsync. Since CUDA 4.0. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, DeviceSpan<T> to,
                  DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return detail::copy(way, {detail::CopyKind::device_to_device, to.address(), from.address(),
                              to.size(), from.size(), sizeof(T)});
}

/* Sets every element to `value`, which has one, two or four bytes; the address must be a multiple
 * of that size. cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async; with a Context also
 * cuStreamSynchronize. Since CUDA 3.2. */
template <detail::CopyWay Way, FillableDeviceType T>
Result<void> fill(const Way &way, DeviceSpan<T> to, const std::type_identity_t<T> &value) noexcept {
    return detail::fill(way, {to.address(), to.size(), static_cast<unsigned int>(sizeof(T)),
                              detail::bits_of(value)});
}

/* The same for buffers and contiguous ranges: copy(stream, buffer, vector). A range must outlive
 * the work in a stream. */
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
