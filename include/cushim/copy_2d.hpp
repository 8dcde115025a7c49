/* Copies and fills of memory with rows and layers. The contract is that of copy.hpp.
 *
 *     copy(context, image.span(), pixels)      waits
 *     copy(stream, image.span(), pixels)       enqueues
 *
 * Source and destination must have the same extent, or the call fails with invalid_argument and
 * both extents. Their pitches may differ; the bytes between rows are neither read nor written. Rows
 * of source and destination may alternate, as the halves of an image do, but must not overlap
 * (invalid_argument). A pitch that exceeds CU_DEVICE_ATTRIBUTE_MAX_PITCH fails with
 * CUDA_ERROR_INVALID_VALUE (1).
 */
#ifndef CUSHIM_COPY_2D_HPP
#define CUSHIM_COPY_2D_HPP

#include <cushim/copy.hpp>
#include <cushim/detail/copy_2d.hpp>
#include <cushim/pitched_span.hpp>

namespace cushim {

/* Copies from the host to a device.
 * One layer: cuMemcpy2DUnaligned_v2, cuStreamSynchronize; cuMemcpy2DAsync_v2. More: cuMemcpy3D_v2,
 * cuStreamSynchronize; cuMemcpy3DAsync_v2. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, const DevicePitchedSpan<T> &to,
                  const HostPitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return detail::copy(way, detail::PitchedCopy{detail::CopyKind::host_to_device,
                                                 to.view(),
                                                 from.view(),
                                                 {sizeof(T), alignof(T)}});
}

/* Copies from a device to the host. The same CUDA calls, without cuStreamSynchronize. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, const HostPitchedSpan<T> &to,
                  const DevicePitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return detail::copy(way, detail::PitchedCopy{detail::CopyKind::device_to_host,
                                                 to.view(),
                                                 from.view(),
                                                 {sizeof(T), alignof(T)}});
}

/* Copies within a device or between devices. The same CUDA calls as from host to device. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, const DevicePitchedSpan<T> &to,
                  const DevicePitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return detail::copy(way, detail::PitchedCopy{detail::CopyKind::device_to_device,
                                                 to.view(),
                                                 from.view(),
                                                 {sizeof(T), alignof(T)}});
}

/* Sets every element to `value`, which has one, two or four bytes; each row must begin at a
 * multiple of that size. cuMemsetD2D8Async, cuMemsetD2D16Async, cuMemsetD2D32Async, once per layer
 * if layers are not adjacent; with a Context also cuStreamSynchronize. */
template <detail::CopyWay Way, FillableDeviceType T>
Result<void> fill(const Way &way, const DevicePitchedSpan<T> &to,
                  const std::type_identity_t<T> &value) noexcept {
    return detail::fill(
        way, detail::PitchedFill{to.view(), {sizeof(T), alignof(T)}, detail::bits_of(value)});
}

} // namespace cushim

#endif
