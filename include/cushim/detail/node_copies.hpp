/* Copies and fills as graph nodes: from spans, or from buffers, which are kept alive. */
#ifndef CUSHIM_DETAIL_NODE_COPIES_HPP
#define CUSHIM_DETAIL_NODE_COPIES_HPP

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cushim/copy_2d.hpp>

namespace cushim::detail {

template <class T>
ElementType element_of() noexcept {
    return {sizeof(T), alignof(T)};
}

template <WritableDeviceType T>
Copy copy_between(DeviceSpan<T> to, SourceSpan<T> from) noexcept {
    return {CopyKind::host_to_device,
            to.address(),
            address_of(from.data()),
            to.size(),
            from.size(),
            sizeof(T)};
}
template <WritableDeviceType T, std::size_t Size>
Copy copy_between(std::span<T, Size> to, DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return {CopyKind::device_to_host,
            address_of(to.data()),
            from.address(),
            to.size(),
            from.size(),
            sizeof(T)};
}
template <WritableDeviceType T>
Copy copy_between(DeviceSpan<T> to, DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return {CopyKind::device_to_device,
            to.address(),
            from.address(),
            to.size(),
            from.size(),
            sizeof(T)};
}
template <WritableDeviceType T>
PitchedCopy copy_between(const DevicePitchedSpan<T> &to,
                         const HostPitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return {CopyKind::host_to_device, to.view(), from.view(), element_of<T>()};
}
template <WritableDeviceType T>
PitchedCopy copy_between(const HostPitchedSpan<T> &to,
                         const DevicePitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return {CopyKind::device_to_host, to.view(), from.view(), element_of<T>()};
}
template <WritableDeviceType T>
PitchedCopy copy_between(const DevicePitchedSpan<T> &to,
                         const DevicePitchedSpan<const std::type_identity_t<T>> &from) noexcept {
    return {CopyKind::device_to_device, to.view(), from.view(), element_of<T>()};
}

// A destination and a source with one element type, at least one of them in device memory.
template <class To, class From>
concept CopyableTo = requires(To &to, From &from) { copy_between(view_of(to), view_of(from)); };

template <FillableDeviceType T>
Fill fill_with(DeviceSpan<T> to, const std::type_identity_t<T> &value) noexcept {
    return {to.address(), to.size(), static_cast<unsigned int>(sizeof(T)), bits_of(value)};
}
template <FillableDeviceType T>
PitchedFill fill_with(const DevicePitchedSpan<T> &to,
                      const std::type_identity_t<T> &value) noexcept {
    return {to.view(), element_of<T>(), bits_of(value)};
}
template <class To>
using ElementOf = typename decltype(view_of(std::declval<const To &>()))::element_type;
template <class To>
concept Fillable =
    requires(const To &to, const ElementOf<To> &value) { fill_with(view_of(to), value); };

} // namespace cushim::detail

#endif
