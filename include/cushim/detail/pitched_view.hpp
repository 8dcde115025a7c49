/* Views of rows and layers without their element type, and the base of the spans that have one. */
#ifndef CUSHIM_DETAIL_PITCHED_VIEW_HPP
#define CUSHIM_DETAIL_PITCHED_VIEW_HPP

#include <cstddef>
#include <type_traits>

#include <cushim/device_span.hpp>
#include <cushim/extent.hpp>

namespace cushim::detail {

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

// Headers pass the function that the program called.

// A view of the `bytes` bytes at the address; invalid_argument if it does not fit.
CUSHIM_API Result<PitchedView> pitched_view(unsigned long long address, std::size_t bytes,
                                            const Extent &extent, const Pitch &pitch,
                                            const ElementType &element,
                                            const char *function = nullptr) noexcept;
// The part of size `extent` that starts at `from`; invalid_argument in the same way.
CUSHIM_API Result<PitchedView> part_of(const PitchedView &view, const Position &from,
                                       const Extent &extent, std::size_t element_size,
                                       const char *function) noexcept;
// The start of a row; invalid_argument in the same way.
CUSHIM_API Result<unsigned long long> row_of(const PitchedView &view, std::size_t y, std::size_t z,
                                             const char *function) noexcept;

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

    constexpr const PitchedView &view() const noexcept { return view_; }

  protected:
    constexpr PitchedSpan() noexcept = default;
    constexpr explicit PitchedSpan(const PitchedView &view) noexcept : view_(view) {}

    static constexpr ElementType element = {sizeof(T), alignof(T)};

  private:
    PitchedView view_;
};

} // namespace cushim::detail

#endif
