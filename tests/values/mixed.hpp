// What the two halves of the mixed program offer each other: the same calls of the same types, once
// built with exceptions and once without.
#pragma once

#include <cushim/result.hpp>

namespace mixed {

int value_with_exceptions(const cushim::Result<int> &result);
void value_with_exceptions(const cushim::Result<void> &result);
int value_without_exceptions(const cushim::Result<int> &result);
void value_without_exceptions(const cushim::Result<void> &result);

} // namespace mixed
