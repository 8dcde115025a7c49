#include <cushim/pitched_span.hpp>

#include "base/ranges.hpp"

namespace cushim::detail {
namespace {

// Whether a * b + c overflows.
bool reach_overflows(std::size_t a, std::size_t b, std::size_t c) noexcept {
    return product_overflows(a, b) || sum_overflows(a * b, c);
}

// The distance from the first byte of a non-empty view to the end of its last.
Result<std::size_t> bytes_between(const Extent &extent, const Pitch &pitch,
                                  std::size_t width_bytes) noexcept {
    const std::size_t layers = extent.depth - 1, rows = extent.height - 1;
    if (reach_overflows(layers, pitch.layer, rows) ||
        reach_overflows(layers * pitch.layer + rows, pitch.row, width_bytes)) {
        return invalid_argument("pitched view: %zu layers x %zu rows x %zu bytes with layer pitch "
                                "%zu and row pitch %zu "
                                "exceed the address space",
                                extent.depth, extent.height, width_bytes, pitch.layer, pitch.row);
    }
    return (layers * pitch.layer + rows) * pitch.row + width_bytes;
}

Result<void> check(const Pitch &known, const Extent &extent, std::size_t width_bytes,
                   std::size_t alignment) noexcept {
    if (known.row < width_bytes) {
        return invalid_argument("row pitch %zu is smaller than the row width, %zu", known.row,
                                width_bytes);
    }
    if ((known.row & (alignment - 1)) != 0) { // the alignment is a power of two
        return invalid_argument("row pitch %zu is not a multiple of the element alignment, %zu",
                                known.row, alignment);
    }
    if (known.layer < extent.height) {
        return invalid_argument("layer pitch %zu is smaller than the height, %zu", known.layer,
                                extent.height);
    }
    return {};
}

unsigned long long address_in(const PitchedView &view, const Position &at,
                              std::size_t element_size) noexcept {
    return view.address + (at.z * view.pitch.layer + at.y) * view.pitch.row + at.x * element_size;
}

} // namespace

Result<PitchedView> pitched_view(unsigned long long address, std::size_t bytes,
                                 const Extent &extent, const Pitch &pitch,
                                 const ElementType &element) noexcept {
    CUSHIM_TRY(const std::size_t width_bytes, bytes_of(extent.width, element.size));
    const Pitch known = filled_in(pitch, extent, element.size);
    CUSHIM_TRY_VOID(check(known, extent, width_bytes, element.alignment));
    if (!extent.empty()) {
        CUSHIM_TRY(const std::size_t needed, bytes_between(extent, known, width_bytes));
        if (needed > bytes) {
            return invalid_argument("pitched view: required size %zu exceeds the memory size, %zu",
                                    needed, bytes);
        }
    }
    return PitchedView{address, extent, known};
}

Result<PitchedView> part_of(const PitchedView &view, const Position &from, const Extent &extent,
                            std::size_t element_size) noexcept {
    CUSHIM_TRY_VOID(check_range(from.x, extent.width, view.extent.width));
    CUSHIM_TRY_VOID(check_range(from.y, extent.height, view.extent.height));
    CUSHIM_TRY_VOID(check_range(from.z, extent.depth, view.extent.depth));
    return PitchedView{address_in(view, from, element_size), extent, view.pitch};
}

Result<unsigned long long> row_of(const PitchedView &view, std::size_t y, std::size_t z) noexcept {
    if (y >= view.extent.height || z >= view.extent.depth) {
        return invalid_argument("row %zu of layer %zu is out of range: height %zu, depth %zu", y, z,
                                view.extent.height, view.extent.depth);
    }
    return address_in(view, {0, y, z}, 0);
}

} // namespace cushim::detail
