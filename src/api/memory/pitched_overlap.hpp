// Whether a copy of rows would write what it reads.
#pragma once

#include <cushim/pitched_span.hpp>

namespace cushim::detail {

// Whether rows of both have bytes in common. Both are views that can be, of one extent. At once
// where they lie apart or have the same pitches; else as long as they have rows.
bool overlap(const PitchedView &a, const PitchedView &b, std::size_t element_size) noexcept;

} // namespace cushim::detail
