/* Copies and fills as graph nodes: from spans, or from buffers, which are kept alive. */
#ifndef CUSHIM_DETAIL_NODE_COPIES_HPP
#define CUSHIM_DETAIL_NODE_COPIES_HPP

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cushim/copy_2d.hpp>

namespace cushim::detail {

inline PitchedView linear_view(unsigned long long address, std::size_t size,
                               std::size_t element_size) noexcept {
    return {address, {size, 1, 1}, {size * element_size, 1}};
}
template <class T>
ElementType element_of() noexcept {
    return {sizeof(T), alignof(T)};
}

template <WritableDeviceType T>
PitchedCopy copy_between(DeviceSpan<T> to, SourceSpan<T> from) noexcept {
    return {CopyKind::host_to_device, linear_view(to.address(), to.size(), sizeof(T)),
            linear_view(address_of(from.data()), from.size(), sizeof(T)), element_of<T>()};
}
template <WritableDeviceType T, std::size_t Size>
PitchedCopy copy_between(std::span<T, Size> to,
                         DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return {CopyKind::device_to_host, linear_view(address_of(to.data()), to.size(), sizeof(T)),
            linear_view(from.address(), from.size(), sizeof(T)), element_of<T>()};
}
template <WritableDeviceType T>
PitchedCopy copy_between(DeviceSpan<T> to,
                         DeviceSpan<const std::type_identity_t<T>> from) noexcept {
    return {CopyKind::device_to_device, linear_view(to.address(), to.size(), sizeof(T)),
            linear_view(from.address(), from.size(), sizeof(T)), element_of<T>()};
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
PitchedFill fill_with(DeviceSpan<T> to, const std::type_identity_t<T> &value) noexcept {
    return {linear_view(to.address(), to.size(), sizeof(T)), element_of<T>(), bits_of(value)};
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
