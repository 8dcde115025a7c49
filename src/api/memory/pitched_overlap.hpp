// Whether a pitched copy would overwrite its source.
#pragma once

#include <cushim/pitched_span.hpp>

namespace cushim::detail {

// Whether rows of both views overlap. Both are valid views of the same extent. Takes constant time
// if they are disjoint or have the same pitches; otherwise linear in the number of rows.
bool overlap(const PitchedView &a, const PitchedView &b, std::size_t element_size) noexcept;

} // namespace cushim::detail
