/* Copies and fills of memory that has rows and layers: as copy.hpp's, with views in place of spans.
 *
 *     copy(context, image.span(), pixels)      waits
 *     copy(stream, image.span(), pixels)       is queued
 *
 * Source and destination have the same extent, else invalid_argument with the numbers of both; they
 * may have other pitches. What is between the rows is neither read nor written. A pitch of more
 * than CU_DEVICE_ATTRIBUTE_MAX_PITCH is status 1. All that copy.hpp says of linear memory holds
 * here, too: ranges are rows then. Those of source and destination may lie between each other, as the
 * two halves of an image do, but must not overlap: invalid_argument.
 */
#ifndef CUSHIM_COPY_2D_HPP
#define CUSHIM_COPY_2D_HPP

#include <cushim/copy.hpp>
#include <cushim/pitched_span.hpp>

namespace cushim {
namespace detail {

struct PitchedCopy {
    CopyKind kind;
    PitchedView to;
    PitchedView from;
    ElementType element;
};

CUSHIM_API Result<void> copy(const Context &context, const PitchedCopy &copy) noexcept;
CUSHIM_API Result<void> copy(const Stream &stream, const PitchedCopy &copy) noexcept;

// One, two or four bytes, repeated.
struct PitchedFill {
    PitchedView to;
    ElementType element;
    unsigned int value;
};

CUSHIM_API Result<void> fill(const Context &context, const PitchedFill &fill) noexcept;
CUSHIM_API Result<void> fill(const Stream &stream, const PitchedFill &fill) noexcept;

} // namespace detail

/* To the device.
 * One layer: cuMemcpy2DUnaligned_v2, cuStreamSynchronize; cuMemcpy2DAsync_v2. More: cuMemcpy3D_v2,
 * cuStreamSynchronize; cuMemcpy3DAsync_v2. Since CUDA 3.2. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, const DevicePitchedSpan<T> &to,
                  const HostPitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return detail::copy(way, detail::PitchedCopy{detail::CopyKind::host_to_device,
                                                 to.view(),
                                                 from.view(),
                                                 {sizeof(T), alignof(T)}});
}

/* To the host. The same calls, without cuStreamSynchronize. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, const HostPitchedSpan<T> &to,
                  const DevicePitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return detail::copy(way, detail::PitchedCopy{detail::CopyKind::device_to_host,
                                                 to.view(),
                                                 from.view(),
                                                 {sizeof(T), alignof(T)}});
}

/* Within the device, and from one to another. The same calls as to the device. */
template <detail::CopyWay Way, WritableDeviceType T>
Result<void> copy(const Way &way, const DevicePitchedSpan<T> &to,
                  const DevicePitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return detail::copy(way, detail::PitchedCopy{detail::CopyKind::device_to_device,
                                                 to.view(),
                                                 from.view(),
                                                 {sizeof(T), alignof(T)}});
}

/* Every element becomes `value`, which has one, two or four bytes; rows begin at multiples of them.
 * cuMemsetD2D8Async, cuMemsetD2D16Async, cuMemsetD2D32Async, once for each layer where there is
 * room between them; by a Context cuStreamSynchronize, too. Since CUDA 3.2. */
template <detail::CopyWay Way, FillableDeviceType T>
Result<void> fill(const Way &way, const DevicePitchedSpan<T> &to,
                  const std::type_identity_t<T> &value) noexcept {
    return detail::fill(
        way, detail::PitchedFill{to.view(), {sizeof(T), alignof(T)}, detail::bits_of(value)});
}

} // namespace cushim

#endif
