/* Views of device and host memory with rows and layers, and gaps between them.
 *
 * A row has `width` elements; rows begin `pitch.row` bytes apart. A layer has `height` rows; layers
 * begin `pitch.layer` rows apart. There are `depth` layers. An image is a view of one layer.
 */
#ifndef CUSHIM_PITCHED_SPAN_HPP
#define CUSHIM_PITCHED_SPAN_HPP

#include <span>

#include <cushim/device_span.hpp>

namespace cushim {

// The size of memory with rows and layers.
struct Extent {
    std::size_t width = 0;  // elements
    std::size_t height = 1; // rows
    std::size_t depth = 1;  // layers

    constexpr bool empty() const noexcept { return width == 0 || height == 0 || depth == 0; }

    friend constexpr bool operator==(const Extent &, const Extent &) noexcept = default;
};

// The start of a part.
struct Position {
    std::size_t x = 0; // elements
    std::size_t y = 0; // rows
    std::size_t z = 0; // layers
};

// The distances of rows and layers. For a new span, 0 means no gaps.
struct Pitch {
    std::size_t row = 0;   // bytes from row to row, a multiple of the elements' alignment
    std::size_t layer = 0; // rows from layer to layer
};

namespace detail {

struct ElementType {
    std::size_t size;      // bytes
    std::size_t alignment; // bytes
};

// A view without its element type.
struct PitchedView {
    unsigned long long address = 0; // of the host or the device
    Extent extent;
    Pitch pitch;
};

// Replaces a pitch of 0 by one without gaps.
constexpr Pitch filled_in(const Pitch &pitch, const Extent &extent,
                          std::size_t element_size) noexcept {
    return {pitch.row != 0 ? pitch.row : extent.width * element_size,
            pitch.layer != 0 ? pitch.layer : extent.height};
}

// A view of the `bytes` bytes at the address; invalid_argument with the numbers if it does not fit.
CUSHIM_API Result<PitchedView> pitched_view(unsigned long long address, std::size_t bytes,
                                            const Extent &extent, const Pitch &pitch,
                                            const ElementType &element) noexcept;
// The part of size `extent` that starts at `from`; invalid_argument in the same way.
CUSHIM_API Result<PitchedView> part_of(const PitchedView &view, const Position &from,
                                       const Extent &extent, std::size_t element_size) noexcept;
// The start of a row; invalid_argument in the same way.
CUSHIM_API Result<unsigned long long> row_of(const PitchedView &view, std::size_t y,
                                             std::size_t z) noexcept;

template <class U, class T>
concept NotConstOf = std::is_same_v<const U, T>;

template <DeviceType T>
class PitchedSpan {
  public:
    using element_type = T;

    constexpr const Extent &extent() const noexcept { return view_.extent; }
    constexpr std::size_t width() const noexcept { return extent().width; }
    constexpr std::size_t height() const noexcept { return extent().height; }
    constexpr std::size_t depth() const noexcept { return extent().depth; }
    constexpr bool empty() const noexcept { return extent().empty(); }

    constexpr const Pitch &pitch() const noexcept { return view_.pitch; }

    // Internal.
    constexpr const PitchedView &view() const noexcept { return view_; }

  protected:
    constexpr PitchedSpan() noexcept = default;
    constexpr explicit PitchedSpan(const PitchedView &view) noexcept : view_(view) {}

    static constexpr ElementType element = {sizeof(T), alignof(T)};

  private:
    PitchedView view_;
};

} // namespace detail

// A view of device memory, valid as long as the memory.
template <DeviceType T>
class DevicePitchedSpan : public detail::PitchedSpan<T> {
    using Base = detail::PitchedSpan<T>;

  public:
    constexpr DevicePitchedSpan() noexcept = default;
    // The caller guarantees that the memory is that large.
    constexpr DevicePitchedSpan(CUdeviceptr address, const Extent &extent,
                                const Pitch &pitch) noexcept
        : Base({address, extent, detail::filled_in(pitch, extent, sizeof(T))}) {}
    // Converts a writable span to a read-only one.
    template <detail::NotConstOf<T> U>
    constexpr DevicePitchedSpan(const DevicePitchedSpan<U> &other) noexcept : Base(other.view()) {}

    // A view of the start of `memory`, without gaps if the pitch is 0; invalid_argument with the
    // numbers if it does not fit.
    static Result<DevicePitchedSpan> of(DeviceSpan<T> memory, const Extent &extent,
                                        const Pitch &pitch = {}) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(memory.size(), sizeof(T)));
        return detail::pitched_view(memory.address(), bytes, extent, pitch, Base::element)
            .transform(see);
    }

    // The part that starts at `from`; invalid_argument with the numbers if it exceeds this span.
    Result<DevicePitchedSpan> part(const Position &from, const Extent &extent) const noexcept {
        return detail::part_of(Base::view(), from, extent, sizeof(T)).transform(see);
    }

    constexpr CUdeviceptr address() const noexcept {
        return static_cast<CUdeviceptr>(Base::view().address);
    }
    // For kernel parameters. Host code must not dereference it.
    T *data() const noexcept { return reinterpret_cast<T *>(address()); }

  private:
    constexpr explicit DevicePitchedSpan(const detail::PitchedView &view) noexcept : Base(view) {}
    static DevicePitchedSpan see(const detail::PitchedView &view) noexcept {
        return DevicePitchedSpan(view);
    }
};

// A view of host memory, valid as long as the memory.
template <DeviceType T>
class HostPitchedSpan : public detail::PitchedSpan<T> {
    using Base = detail::PitchedSpan<T>;

  public:
    constexpr HostPitchedSpan() noexcept = default;
    // The caller guarantees that the memory is that large.
    HostPitchedSpan(T *data, const Extent &extent, const Pitch &pitch) noexcept
        : Base({reinterpret_cast<unsigned long long>(data), extent,
                detail::filled_in(pitch, extent, sizeof(T))}) {}
    // Converts a writable span to a read-only one.
    template <detail::NotConstOf<T> U>
    constexpr HostPitchedSpan(const HostPitchedSpan<U> &other) noexcept : Base(other.view()) {}

    // A view of the start of `memory`, without gaps if the pitch is 0; invalid_argument with the
    // numbers if it does not fit.
    static Result<HostPitchedSpan> of(std::span<T> memory, const Extent &extent,
                                      const Pitch &pitch = {}) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(memory.size(), sizeof(T)));
        return detail::pitched_view(reinterpret_cast<unsigned long long>(memory.data()), bytes,
                                    extent, pitch, Base::element)
            .transform(see);
    }

    // The part that starts at `from`; invalid_argument with the numbers if it exceeds this span.
    Result<HostPitchedSpan> part(const Position &from, const Extent &extent) const noexcept {
        return detail::part_of(Base::view(), from, extent, sizeof(T)).transform(see);
    }

    T *data() const noexcept { return reinterpret_cast<T *>(Base::view().address); }

    // Row y of layer z; invalid_argument with the numbers if it does not exist.
    Result<std::span<T>> row(std::size_t y, std::size_t z = 0) const noexcept {
        CUSHIM_TRY(const auto address, detail::row_of(Base::view(), y, z));
        return std::span<T>(reinterpret_cast<T *>(address), Base::width());
    }

  private:
    constexpr explicit HostPitchedSpan(const detail::PitchedView &view) noexcept : Base(view) {}
    static HostPitchedSpan see(const detail::PitchedView &view) noexcept {
        return HostPitchedSpan(view);
    }
};

} // namespace cushim

#endif
