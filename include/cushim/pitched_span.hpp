/* Views of device and host memory with rows and layers, and gaps between them.
 *
 * A row has `width` elements; rows begin `pitch.row` bytes apart. A layer has `height` rows; layers
 * begin `pitch.layer` rows apart. There are `depth` layers. An image is a view of one layer.
 */
#ifndef CUSHIM_PITCHED_SPAN_HPP
#define CUSHIM_PITCHED_SPAN_HPP

#include <span>

#include <cushim/detail/pitched_view.hpp>
#include <cushim/device_span.hpp>
#include <cushim/extent.hpp>

namespace cushim {

// A view of device memory with rows and layers; it is valid as long as the memory.
template <DeviceType T>
class DevicePitchedSpan : public detail::PitchedSpan<T> {
    using Base = detail::PitchedSpan<T>;

  public:
    constexpr DevicePitchedSpan() noexcept = default;
    // The caller guarantees that the memory is that large.
    constexpr DevicePitchedSpan(CUdeviceptr address, const Extent &size,
                                const Pitch &layout) noexcept
        : Base({address, size, detail::filled_in(layout, size, sizeof(T))}) {}
    // Converts a writable span to a read-only one.
    template <detail::NotConstOf<T> U>
    constexpr DevicePitchedSpan(const DevicePitchedSpan<U> &other) noexcept : Base(other.view()) {}

    // A view of the start of `memory`, without gaps if the pitch is 0; invalid_argument if it does
    // not fit.
    static Result<DevicePitchedSpan> of(DeviceSpan<T> memory, const Extent &extent,
                                        const Pitch &pitch = {}) noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const std::size_t bytes,
                          detail::bytes_of(memory.size(), sizeof(T), "DevicePitchedSpan::of"));
        return detail::pitched_view(memory.native(), bytes, extent, pitch, Base::element,
                                    "DevicePitchedSpan::of")
            .transform(see);
    }

    // A view of the part of this `size` that starts at `from`; invalid_argument if it exceeds this
    // span.
    Result<DevicePitchedSpan> part(const Position &from, const Extent &size) const noexcept {
        return detail::part_of(Base::view(), from, size, sizeof(T), "DevicePitchedSpan::part")
            .transform(see);
    }

    // The size, the pitch, and whether the view has no elements.
    using Base::depth, Base::empty, Base::extent, Base::height, Base::pitch, Base::width;

    // The address, for calls through the tables; 0 if default-constructed.
    constexpr CUdeviceptr native() const noexcept {
        return static_cast<CUdeviceptr>(Base::view().address);
    }
    // The address, for kernel parameters. Host code must not dereference it.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }

  private:
    constexpr explicit DevicePitchedSpan(const detail::PitchedView &view) noexcept : Base(view) {}
    static DevicePitchedSpan see(const detail::PitchedView &view) noexcept {
        return DevicePitchedSpan(view);
    }
};

// A view of host memory with rows and layers; it is valid as long as the memory.
template <DeviceType T>
class HostPitchedSpan : public detail::PitchedSpan<T> {
    using Base = detail::PitchedSpan<T>;

  public:
    constexpr HostPitchedSpan() noexcept = default;
    // The caller guarantees that the memory is that large.
    HostPitchedSpan(T *data, const Extent &size, const Pitch &layout) noexcept
        : Base({reinterpret_cast<unsigned long long>(data), size,
                detail::filled_in(layout, size, sizeof(T))}) {}
    // Converts a writable span to a read-only one.
    template <detail::NotConstOf<T> U>
    constexpr HostPitchedSpan(const HostPitchedSpan<U> &other) noexcept : Base(other.view()) {}

    // A view of the start of `memory`, without gaps if the pitch is 0; invalid_argument if it does
    // not fit.
    static Result<HostPitchedSpan> of(std::span<T> memory, const Extent &extent,
                                      const Pitch &pitch = {}) noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const std::size_t bytes,
                          detail::bytes_of(memory.size(), sizeof(T), "HostPitchedSpan::of"));
        return detail::pitched_view(reinterpret_cast<unsigned long long>(memory.data()), bytes,
                                    extent, pitch, Base::element, "HostPitchedSpan::of")
            .transform(see);
    }

    // A view of the part of this `size` that starts at `from`; invalid_argument if it exceeds this
    // span.
    Result<HostPitchedSpan> part(const Position &from, const Extent &size) const noexcept {
        return detail::part_of(Base::view(), from, size, sizeof(T), "HostPitchedSpan::part")
            .transform(see);
    }

    // The size, the pitch, and whether the view has no elements.
    using Base::depth, Base::empty, Base::extent, Base::height, Base::pitch, Base::width;

    // The address; null if default-constructed.
    T *data() const noexcept { return reinterpret_cast<T *>(Base::view().address); }

    // A view of row y of layer z; invalid_argument if it does not exist.
    Result<std::span<T>> row(std::size_t y, std::size_t z = 0) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const auto address,
                          detail::row_of(Base::view(), y, z, "HostPitchedSpan::row"));
        return std::span<T>(reinterpret_cast<T *>(address), width());
    }

  private:
    constexpr explicit HostPitchedSpan(const detail::PitchedView &view) noexcept : Base(view) {}
    static HostPitchedSpan see(const detail::PitchedView &view) noexcept {
        return HostPitchedSpan(view);
    }
};

} // namespace cushim

#endif
