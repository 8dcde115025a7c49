#include "pitched_copy.hpp"

#include <limits>

#include "base/ranges.hpp"

namespace cushim::detail {

// Checks a view, which callers can construct with arbitrary numbers.
static Result<void> check(const PitchedView &view, const ElementType &element) noexcept {
    if (is_one_row(view, element)) {
        return {};
    }
    constexpr auto everything = std::numeric_limits<std::size_t>::max();
    CUSHIM_TRY_VOID(pitched_view(view.address, everything, view.extent, view.pitch, element));
    return {};
}

// The end of the last row.
static unsigned long long end_of(const PitchedView &view, const ElementType &element) noexcept {
    const auto &[address, extent, pitch] = view;
    const std::size_t rows = (extent.depth - 1) * pitch.layer + extent.height - 1;
    return address + rows * pitch.row + extent.width * element.size;
}

Result<void> check_rows(const PitchedCopy &copy) noexcept {
    const Extent &from = copy.from.extent, &to = copy.to.extent;
    if (from != to && !(from.empty() && to.empty())) {
        return invalid_argument(
            "extents differ: source %zu x %zu x %zu, destination %zu x %zu x %zu", from.width,
            from.height, from.depth, to.width, to.height, to.depth);
    }
    CUSHIM_TRY_VOID(check(copy.from, copy.element));
    CUSHIM_TRY_VOID(check(copy.to, copy.element));
    if (overlap(copy.to, copy.from, copy.element.size)) {
        return invalid_argument(
            "rows of source [%#llx, %#llx) and destination [%#llx, %#llx) overlap",
            copy.from.address, end_of(copy.from, copy.element), copy.to.address,
            end_of(copy.to, copy.element));
    }
    return {};
}

Result<void> check_rows(const PitchedFill &fill) noexcept {
    CUSHIM_TRY_VOID(check(fill.to, fill.element));
    const std::size_t within = fill.element.size - 1; // of 1, 2 or 4 bytes
    if (((fill.to.address | fill.to.pitch.row) & within) != 0) {
        return (fill.to.address & within) != 0
                   ? invalid_argument("address %#llx is not a multiple of the element size of %zu "
                                      "bytes",
                                      fill.to.address, fill.element.size)
                   : invalid_argument("row pitch %zu is not a multiple of the element size of %zu "
                                      "bytes",
                                      fill.to.pitch.row, fill.element.size);
    }
    return {};
}

} // namespace cushim::detail
