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
        return invalid_argument(
            "extent %zu x %zu x %zu with a row pitch of %zu byte%s and a layer pitch of %zu row%s "
            "exceeds the address space",
            extent.width, extent.height, extent.depth, pitch.row, plural(pitch.row), pitch.layer,
            plural(pitch.layer));
    }
    return (layers * pitch.layer + rows) * pitch.row + width_bytes;
}

Result<void> check(const Pitch &known, const Extent &extent, std::size_t width_bytes,
                   std::size_t alignment) noexcept {
    if (known.row < width_bytes) {
        return invalid_argument("row pitch %zu is smaller than the row width of %zu byte%s",
                                known.row, width_bytes, plural(width_bytes));
    }
    if ((known.row & (alignment - 1)) != 0) { // the alignment is a power of two
        return invalid_argument(
            "row pitch %zu is not a multiple of the element alignment of %zu bytes", known.row,
            alignment);
    }
    if (known.layer < extent.height) {
        return invalid_argument("layer pitch %zu is smaller than the height of %zu row%s",
                                known.layer, extent.height, plural(extent.height));
    }
    return {};
}

unsigned long long address_in(const PitchedView &view, const Position &at,
                              std::size_t element_size) noexcept {
    return view.address + (at.z * view.pitch.layer + at.y) * view.pitch.row + at.x * element_size;
}

// How a message names a dimension.
struct Axis {
    const char *unit, *limit;
};

Result<void> check_axis(std::size_t offset, std::size_t count, std::size_t limit, Axis axis,
                        const char *function) noexcept {
    if (offset > limit || count > limit - offset) {
        return named(function, invalid_argument("%s [%zu, %zu) exceed the %s of %zu", axis.unit,
                                                offset, end_of(offset, count), axis.limit, limit));
    }
    return {};
}

} // namespace

Result<PitchedView> pitched_view(unsigned long long address, std::size_t bytes,
                                 const Extent &extent, const Pitch &pitch,
                                 const ElementType &element, const char *function) noexcept {
    CUSHIM_TRY(const std::size_t width_bytes, bytes_of(extent.width, element.size, function));
    const Pitch known = filled_in(pitch, extent, element.size);
    CUSHIM_TRY_VOID(named(function, check(known, extent, width_bytes, element.alignment)));
    if (!extent.empty()) {
        CUSHIM_TRY(const std::size_t needed,
                   named(function, bytes_between(extent, known, width_bytes)));
        if (needed > bytes) {
            return named(function,
                         invalid_argument(
                             "extent %zu x %zu x %zu requires %zu byte%s, but the memory has %zu "
                             "byte%s",
                             extent.width, extent.height, extent.depth, needed, plural(needed),
                             bytes, plural(bytes)));
        }
    }
    return PitchedView{address, extent, known};
}

Result<PitchedView> part_of(const PitchedView &view, const Position &from, const Extent &extent,
                            std::size_t element_size, const char *function) noexcept {
    CUSHIM_TRY_VOID(
        check_axis(from.x, extent.width, view.extent.width, {"elements", "width"}, function));
    CUSHIM_TRY_VOID(
        check_axis(from.y, extent.height, view.extent.height, {"rows", "height"}, function));
    CUSHIM_TRY_VOID(
        check_axis(from.z, extent.depth, view.extent.depth, {"layers", "depth"}, function));
    return PitchedView{address_in(view, from, element_size), extent, view.pitch};
}

Result<unsigned long long> row_of(const PitchedView &view, std::size_t y, std::size_t z,
                                  const char *function) noexcept {
    if (y >= view.extent.height || z >= view.extent.depth) {
        return named(function,
                     invalid_argument("row %zu of layer %zu is out of range: height %zu, depth %zu",
                                      y, z, view.extent.height, view.extent.depth));
    }
    return address_in(view, {0, y, z}, 0);
}

} // namespace cushim::detail
