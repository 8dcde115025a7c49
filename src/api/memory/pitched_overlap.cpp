// All rows have the same width, so two rows overlap if their starts are closer than that.
#include "pitched_copy.hpp"

namespace cushim::detail {
namespace {

using Address = unsigned long long;

// The distance from the first byte of the view to the end of its last.
Address reach(const PitchedView &view, Address width) noexcept {
    const auto &[address, extent, pitch] = view;
    return ((extent.depth - 1) * pitch.layer + extent.height - 1) * pitch.row + width;
}

// Whether the view has two rows with a distance of `rows`, counting unused rows between layers.
bool has_rows_apart(const PitchedView &view, Address rows) noexcept {
    const auto &[address, extent, pitch] = view;
    const Address layers = rows / pitch.layer, rest = rows % pitch.layer;
    return (layers < extent.depth && rest < extent.height) ||
           (layers + 1 < extent.depth && pitch.layer - rest < extent.height);
}

// The other view has the same pitches and begins `distance` bytes later.
bool meets_shifted(const PitchedView &view, Address distance, Address width) noexcept {
    const Address rows = distance / view.pitch.row, rest = distance % view.pitch.row;
    return (rest < width && has_rows_apart(view, rows)) ||
           (view.pitch.row - rest < width && has_rows_apart(view, rows + 1));
}

// Iterates over the rows of a view.
class Rows {
  public:
    explicit Rows(const PitchedView &view) noexcept : view_(view), begin_(view.address) {}

    bool at_end() const noexcept { return z_ == view_.extent.depth; }
    Address begin() const noexcept { return begin_; }
    void next() noexcept {
        begin_ += view_.pitch.row;
        if (++y_ == view_.extent.height) {
            begin_ += (view_.pitch.layer - view_.extent.height) * view_.pitch.row;
            y_ = 0;
            ++z_;
        }
    }

  private:
    const PitchedView &view_;
    Address begin_;
    std::size_t y_ = 0;
    std::size_t z_ = 0;
};

bool meet_row_by_row(const PitchedView &a, const PitchedView &b, Address width) noexcept {
    Rows first(a), second(b);
    while (!first.at_end() && !second.at_end()) {
        Rows &lower = first.begin() <= second.begin() ? first : second;
        const Rows &upper = &lower == &first ? second : first;
        if (upper.begin() - lower.begin() < width) {
            return true;
        }
        lower.next();
    }
    return false;
}

} // namespace

bool overlap(const PitchedView &a, const PitchedView &b, std::size_t element_size) noexcept {
    if (a.extent.empty()) {
        return false;
    }
    const PitchedView &lower = a.address <= b.address ? a : b;
    const PitchedView &upper = &lower == &a ? b : a;
    const Address width = a.extent.width * element_size;
    const Address distance = upper.address - lower.address;
    if (distance >= reach(lower, width)) {
        return false;
    }
    return a.pitch.row == b.pitch.row && a.pitch.layer == b.pitch.layer
               ? meets_shifted(lower, distance, width)
               : meet_row_by_row(a, b, width);
}

} // namespace cushim::detail
