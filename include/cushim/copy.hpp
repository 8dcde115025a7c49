/* Copies and fills of memory, linear or with rows and layers.
 *
 *     cushim::copy(buffer, values)                       waits
 *     cushim::copy(stream, buffer, pinned)               enqueues
 *     cushim::fill(buffer, 0)                            waits
 *
 * Destination and source are buffers, spans, or contiguous ranges such as std::vector; at least one
 * is in device memory. Both have the same element type, and either the same number of elements
 * (DeviceSpan, std::span) or the same extent (DevicePitchedSpan, HostPitchedSpan), or the call
 * fails with invalid_argument and both numbers. They must not overlap. A copy of 0 elements makes
 * no CUDA call. Device memory may belong to any context and device of the process.
 *
 * With a Context, the operation has completed when the call returns. It runs in the legacy stream
 * of that context, after all work enqueued in its blocking streams. Work in non-blocking streams
 * must be waited for before.
 *
 * Without a Context or Stream, the destination or the source must be a buffer, which determines
 * where the operation runs; the one in device memory has precedence, and of two the destination.
 * The operation has completed when the call returns. For memory that was allocated in stream order,
 * it runs in that stream. For other memory, it runs as with the buffer's context; a GrowableBuffer
 * uses the primary context of its device.
 *
 * With a Stream, the operation is enqueued. Until it has completed, source and destination must
 * stay alive, and nothing else may write to the source or use the destination. If the host memory
 * is not pinned, the call may wait until the stream reaches it.
 *
 * Threads: any.
 * Context: see handle.hpp, except with legacy() and per_thread(), which use the current context. A
 * stream's own context is made current while work is enqueued in it, because CUDA otherwise rejects
 * some copies. This takes cuCtxGetCurrent and, if necessary, cuCtxPushCurrent_v2 and
 * cuCtxPopCurrent_v2; for a borrowed stream also cuStreamGetCtx.
 * Errors: invalid_argument; the status of the CUDA call, which may report a failure of earlier
 * asynchronous work.
 *
 * | memory          | to a device           | to the host          | between devices      |
 * |-----------------|-----------------------|----------------------|----------------------|
 * | linear, waits   | cuMemcpyHtoD_v2 *     | cuMemcpyDtoH_v2      | cuMemcpy *           |
 * | linear, enqueued| cuMemcpyHtoDAsync_v2  | cuMemcpyDtoHAsync_v2 | cuMemcpyAsync        |
 * | one layer       | cuMemcpy2DUnaligned_v2 *; enqueued: cuMemcpy2DAsync_v2              |
 * | more layers     | cuMemcpy3D_v2 *; enqueued: cuMemcpy3DAsync_v2                       |
 *
 * (*) and cuStreamSynchronize, unless to the host.
 *
 * Rows and layers: the pitches of source and destination may differ; the bytes between rows are
 * neither read nor written. Rows of source and destination may alternate, as the halves of an image
 * do, but must not overlap (invalid_argument). A pitch that exceeds CU_DEVICE_ATTRIBUTE_MAX_PITCH
 * fails with CUDA_ERROR_INVALID_VALUE (1).
 */
#ifndef CUSHIM_COPY_HPP
#define CUSHIM_COPY_HPP

#include <cushim/context.hpp>
#include <cushim/detail/copy.hpp>
#include <cushim/stream.hpp>
#include <cushim/typed_buffer.hpp>

namespace cushim {

namespace detail {

// cushim's buffers and views. For other memory, programs may have functions of the same names.
template <class Memory>
concept OwnMemory = Buffer<Memory> || is_on_device<ViewOf<Memory>> || has_rows<ViewOf<Memory>>;

} // namespace detail

/* Copies in a context, which waits, or in a stream. With a Stream, buffers and ranges must outlive
 * the work. */
template <detail::CopyWay Way, detail::LastingMemory To, class From>
    requires detail::CopyableTo<To, const From>
Result<void> copy(const Way &way, To &&to, const From &from) noexcept {
    return detail::copy(way, detail::copy_between(detail::view_of(to), detail::view_of(from)));
}

// Copies from or to a buffer, and waits.
template <detail::LastingMemory To, class From>
    requires(detail::CopyableTo<To, const From> && (detail::Buffer<To> || detail::Buffer<From>))
Result<void> copy(To &&to, const From &from) noexcept {
    return detail::copy(detail::Buffers{detail::buffer_state(to), detail::buffer_state(from)},
                        detail::copy_between(detail::view_of(to), detail::view_of(from)));
}

/* Elements of different types, and other memory that does not fit. Compilers print the reason:
 *
 *     Misfit = source::does_not_fit<float, int> */
template <detail::CopyWay Way, class To, class From,
          class Misfit = detail::CopyMisfit<To, const From>>
    requires(detail::MisfitCopy<To, const From> &&
             (detail::OwnMemory<To> || detail::OwnMemory<const From>))
Result<void> copy(const Way &, To &&, const From &) noexcept = delete;
template <class To, class From, class Misfit = detail::CopyMisfit<To, const From>>
    requires(detail::MisfitCopy<To, const From> && (detail::Buffer<To> || detail::Buffer<From>))
Result<void> copy(To &&, const From &) noexcept = delete;

/* Sets every element to `value`, which has one, two or four bytes, or eight in linear memory, in a
 * context, which waits, or in a stream. Integers take no floating-point value. The address of
 * linear memory, and that of every row, must be a multiple of that size. cuMemsetD8Async,
 * cuMemsetD16Async, cuMemsetD32Async; for rows cuMemsetD2D8Async, cuMemsetD2D16Async,
 * cuMemsetD2D32Async, once per layer if layers are not adjacent; for eight bytes whose halves
 * differ cuMemsetD2D32Async, once per half; with a Context also cuStreamSynchronize. */
template <detail::CopyWay Way, detail::Fillable To>
Result<void> fill(const Way &way, To &&to, const detail::ElementOf<To> &value) noexcept {
    return detail::fill(way, detail::fill_with(detail::view_of(to), value));
}

// Fills a buffer, and waits.
template <detail::Fillable To>
    requires detail::Buffer<To>
Result<void> fill(To &&to, const detail::ElementOf<To> &value) noexcept {
    return detail::fill(detail::Buffers{detail::buffer_state(to), nullptr},
                        detail::fill_with(detail::view_of(to), value));
}

/* Elements of another size, and other memory and values that do not fit. Compilers print the
 * reason:
 *
 *     Misfit = destination::cannot_be_filled<float3> */
template <detail::CopyWay Way, class To, class Value, class Misfit = detail::FillMisfit<To, Value>>
    requires(detail::MisfitFill<To, Value> && detail::OwnMemory<To>)
Result<void> fill(const Way &, To &&, const Value &) noexcept = delete;
template <class To, class Value, class Misfit = detail::FillMisfit<To, Value>>
    requires(detail::MisfitFill<To, Value> && detail::Buffer<To>)
Result<void> fill(To &&, const Value &) noexcept = delete;

} // namespace cushim

#endif
