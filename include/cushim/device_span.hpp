/* Device memory of somebody's, as a range of T: an address and a count, and no owner. */
#ifndef CUSHIM_DEVICE_SPAN_HPP
#define CUSHIM_DEVICE_SPAN_HPP

#include <cstddef>
#include <type_traits>

#include <cushim/driver_table.hpp>
#include <cushim/result.hpp>

namespace cushim {

// What may lie in device memory: copied there byte by byte.
template <class T>
concept DeviceType = std::is_trivially_copyable_v<std::remove_cv_t<T>> && !std::is_reference_v<T> &&
                     !std::is_volatile_v<T>;

// What CUDA aligns every allocation to, in bytes.
inline constexpr std::size_t allocation_alignment = 256;

// What may be allocated.
template <class T>
concept AllocatableType = DeviceType<T> && alignof(T) <= allocation_alignment;

namespace detail {

// The sum and the product, or invalid_argument with the numbers where they do not fit.
CUSHIM_API Result<std::size_t> bytes_of(std::size_t count, std::size_t element_size) noexcept;
// invalid_argument with the numbers unless offset + count is at most size.
CUSHIM_API Result<void> check_range(std::size_t offset, std::size_t count,
                                    std::size_t size) noexcept;
// invalid_argument with the numbers unless `bytes` at the address are a whole number of elements of this size, and
// one may lie there.
CUSHIM_API Result<void> check_elements(CUdeviceptr address, std::size_t bytes,
                                       std::size_t element_size, std::size_t alignment) noexcept;

} // namespace detail

/* A view: copy it as you like, as long as the memory lives. Host code must not read through data():
 * see copy.hpp. DeviceSpan<const T> is for memory that is only read, and any span turns into one. */
template <DeviceType T>
class DeviceSpan {
  public:
    using element_type = T;

    constexpr DeviceSpan() noexcept = default;
    // Trusts the caller that there are `size` elements.
    constexpr DeviceSpan(CUdeviceptr address, std::size_t size) noexcept
        : address_(address), size_(size) {}
    // From one that may be written to one that is only read.
    template <class U>
    requires(std::is_same_v<const U, T>) constexpr DeviceSpan(DeviceSpan<U> other) noexcept
        : address_(other.address()), size_(other.size()) {}

    constexpr CUdeviceptr address() const noexcept { return address_; }
    // For kernels' parameters.
    T *data() const noexcept { return reinterpret_cast<T *>(address_); }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr bool empty() const noexcept { return size_ == 0; }

    // `count` elements from `offset` on; invalid_argument with the numbers where they are not in it.
    Result<DeviceSpan> subspan(std::size_t offset, std::size_t count) const noexcept {
        CUSHIM_TRY_VOID(detail::check_range(offset, count, size_));
        return DeviceSpan(address_ + offset * sizeof(T), count);
    }

  private:
    CUdeviceptr address_ = 0;
    std::size_t size_ = 0;
};

} // namespace cushim

#endif
