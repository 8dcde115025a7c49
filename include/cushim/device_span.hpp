/* A view of device memory as a range of T: an address and a count. It owns nothing. */
#ifndef CUSHIM_DEVICE_SPAN_HPP
#define CUSHIM_DEVICE_SPAN_HPP

#include <cstddef>
#include <type_traits>

#include <cushim/detail/driver_headers.h>
#include <cushim/detail/ranges.hpp>
#include <cushim/result.hpp>

namespace cushim {

// Types that may be stored in device memory: they are copied byte by byte.
template <class T>
concept DeviceType = std::is_trivially_copyable_v<std::remove_cv_t<T>> && !std::is_reference_v<T> &&
                     !std::is_volatile_v<T>;

// Types that copy() can write.
template <class T>
concept WritableDeviceType = DeviceType<T> && !std::is_const_v<T>;
// Types that fill() can repeat: one, two, four or, in linear memory, eight bytes.
template <class T>
concept FillableDeviceType =
    WritableDeviceType<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

// The alignment of every CUDA allocation, in bytes.
inline constexpr std::size_t allocation_alignment = 256;

// Types that buffers may hold: device types whose alignment every allocation has.
template <class T>
concept AllocatableType = DeviceType<T> && alignof(T) <= allocation_alignment;

/* A view of elements of T in device memory; it is valid as long as the memory. Host code must not
 * dereference data(): use copy.hpp.
 * DeviceSpan<const T> is read-only; every DeviceSpan<T> converts to it. */
template <DeviceType T>
class DeviceSpan {
  public:
    using element_type = T; // const if the view is read-only

    constexpr DeviceSpan() noexcept = default;
    // The caller guarantees that the memory has `size` elements.
    constexpr DeviceSpan(CUdeviceptr address, std::size_t size) noexcept
        : address_(address), size_(size) {}
    // Converts a writable span to a read-only one.
    template <class U>
        requires(std::is_same_v<const U, T>)
    constexpr DeviceSpan(DeviceSpan<U> other) noexcept
        : address_(other.native()), size_(other.size()) {}

    // The address, for calls through the tables; 0 if default-constructed.
    constexpr CUdeviceptr native() const noexcept { return address_; }
    // The address, for kernel parameters.
    T *data() const noexcept { return reinterpret_cast<T *>(address_); }
    // The number of elements.
    constexpr std::size_t size() const noexcept { return size_; }
    // The size in bytes.
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    // Whether size() is 0.
    constexpr bool empty() const noexcept { return size_ == 0; }

    // A view of `count` elements, starting at `offset`; invalid_argument if the
    // range exceeds this view.
    Result<DeviceSpan> subspan(std::size_t offset, std::size_t count) const noexcept {
        return part(offset, count, "DeviceSpan::subspan");
    }
    // A view of the first, or of the last `count` elements; invalid_argument if there are fewer.
    Result<DeviceSpan> first(std::size_t count) const noexcept {
        return part(0, count, "DeviceSpan::first");
    }
    Result<DeviceSpan> last(std::size_t count) const noexcept {
        return part(count < size_ ? size_ - count : 0, count, "DeviceSpan::last");
    }

    // The same memory as elements of U, const if T is; invalid_argument if the size in bytes is not
    // a multiple of theirs, or the address not one of their alignment.
    template <DeviceType U>
        requires(std::is_const_v<U> || !std::is_const_v<T>)
    Result<DeviceSpan<U>> as() const noexcept {
        CUSHIM_DETAIL_TRY_VOID(cushim_done,
                               detail::check_elements(address_, size_bytes(), sizeof(U), alignof(U),
                                                      "DeviceSpan::as"));
        return DeviceSpan<U>(address_, size_bytes() / sizeof(U));
    }

  private:
    Result<DeviceSpan> part(std::size_t offset, std::size_t count,
                            const char *function) const noexcept {
        CUSHIM_DETAIL_TRY_VOID(cushim_done,
                               detail::check_range(offset, count, size_, "elements", function));
        return DeviceSpan(address_ + offset * sizeof(T), count);
    }

    CUdeviceptr address_ = 0;
    std::size_t size_ = 0;
};

} // namespace cushim

#endif
