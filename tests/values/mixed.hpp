// The functions of the two halves of the mixed program: the same calls of the same types, built
// with exceptions and NDEBUG, and without both.
#pragma once

#include <cushim/result.hpp>

namespace mixed {

int value_with_exceptions(const cushim::Result<int> &result);
void value_with_exceptions(const cushim::Result<void> &result);
int access_with_exceptions(const cushim::Result<int> &result);
int value_without_exceptions(const cushim::Result<int> &result);
void value_without_exceptions(const cushim::Result<void> &result);
int access_without_exceptions(const cushim::Result<int> &result);

} // namespace mixed
