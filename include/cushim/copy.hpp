/* Copies and fills of linear memory.
 *
 *     copy(context, buffer.span(), values)                 waits
 *     copy(stream, buffer.span(), pinned.span())           enqueues
 *
 * With a Context, the operation has completed when the call returns. It runs in the legacy stream
 * of that context, after all work enqueued in its blocking streams. Work in non-blocking streams
 * must be waited for before.
 *
 * With a Stream, the operation is enqueued. Until it has completed, source and destination must
 * stay alive, and nothing else may write to the source or use the destination. If the host memory
 * is not pinned, the call may wait until the stream reaches it.
 *
 * Source and destination must have the same number of elements, or the call fails with
 * invalid_argument and both numbers. They must not overlap. A copy of 0 elements makes no CUDA
 * call. Device memory may belong to any context and device of the process.
 *
 * Threads: any.
 * Context: see handle.hpp, except with legacy() and per_thread(), which use the current context. A
 * stream's own context is made current while work is enqueued in it, because CUDA otherwise rejects
 * some copies. This takes cuCtxGetCurrent and, if necessary, cuCtxPushCurrent_v2 and
 * cuCtxPopCurrent_v2; for a borrowed stream also cuStreamGetCtx.
 * Errors: invalid_argument; the status of the CUDA call, which may report a failure of earlier
 * asynchronous work.
 */
#ifndef CUSHIM_COPY_HPP
#define CUSHIM_COPY_HPP

#include <span>
#include <type_traits>

#include <cushim/context.hpp>
#include <cushim/detail/copy.hpp>
#include <cushim/device_span.hpp>
#include <cushim/stream.hpp>

namespace cushim {

// The source of a copy to elements of T. T is not deduced from it: the destination determines T.
template <class T>
using SourceSpan = std::span<const std::type_identity_t<T>>;

// Types that copy() can write.
template <class T>
concept WritableDeviceType = DeviceType<T> && !std::is_const_v<T>;
// Types that fill() can repeat: one, two or four bytes.
template <class T>
concept FillableDeviceType =
    WritableDeviceType<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4);

/* Copies from the host to a device.
 * cuMemcpyHtoD_v2, cuStreamSynchronize; cuMemcpyHtoDAsync_v2. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, DeviceSpan<T> to, SourceSpan<T> from) noexcept {
    return detail::copy(way, detail::Copy{detail::CopyKind::host_to_device, to.address(),
                                          detail::address_of(from.data()), to.size(), from.size(),
                                          sizeof(T)});
}

/* Copies from a device to the host.
 * cuMemcpyDtoH_v2; cuMemcpyDtoHAsync_v2. */
template <detail::CopyWay Way, WritableDeviceType T, std::size_t Size>
Result<void> copy(const Way &way, std::span<T, Size> to,
                  DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return detail::copy(way, detail::Copy{detail::CopyKind::device_to_host,
                                          detail::address_of(to.data()), from.address(), to.size(),
                                          from.size(), sizeof(T)});
}

/* Copies within a device or between devices.
 * cuMemcpy, cuStreamSynchronize; cuMemcpyAsync. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, DeviceSpan<T> to,
                  DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return detail::copy(way, detail::Copy{detail::CopyKind::device_to_device, to.address(),
                                          from.address(), to.size(), from.size(), sizeof(T)});
}

/* Sets every element to `value`, which has one, two or four bytes; the address must be a multiple
 * of that size. cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async; with a Context also
 * cuStreamSynchronize. */
template <detail::CopyWay Way, FillableDeviceType T>
Result<void> fill(const Way &way, DeviceSpan<T> to, const std::type_identity_t<T> &value) noexcept {
    return detail::fill(way,
                        detail::Fill{to.address(), to.size(), static_cast<unsigned int>(sizeof(T)),
                                     detail::bits_of(value)});
}

/* copy() and fill() for buffers and contiguous ranges: copy(stream, buffer, vector). With a Stream,
 * the buffer or range must outlive the work. */
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
