/* Sizes, positions and pitches of memory with rows and layers: see pitched_span.hpp. */
#ifndef CUSHIM_EXTENT_HPP
#define CUSHIM_EXTENT_HPP

#include <cstddef>

#include <cushim/detail/cpp20.hpp>

namespace cushim {

// The size of memory with rows and layers.
struct Extent {
    std::size_t width = 0;  // elements
    std::size_t height = 1; // rows
    std::size_t depth = 1;  // layers

    // Whether one of the sizes is 0.
    constexpr bool empty() const noexcept { return width == 0 || height == 0 || depth == 0; }

    friend constexpr bool operator==(const Extent &, const Extent &) noexcept = default;
};

// The start of a part of memory with rows and layers.
struct Position {
    std::size_t x = 0; // elements
    std::size_t y = 0; // rows
    std::size_t z = 0; // layers
};

// The distances between rows and between layers. For a new span, 0 means no gaps.
struct Pitch {
    std::size_t row = 0;   // bytes from row to row, a multiple of the elements' alignment
    std::size_t layer = 0; // rows from layer to layer
};

} // namespace cushim

#endif
