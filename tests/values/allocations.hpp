// Whether the tests' allocations are counted (support/failing_allocation.hpp), and whether those of
// the library are among them: the allocations of a DLL go another way.
#pragma once

#include "../support/failing_allocation.hpp"

#define VALUES_COUNTS_ALLOCATIONS TEST_OWNS_OPERATOR_NEW
#if VALUES_COUNTS_ALLOCATIONS && (!defined(_WIN32) || defined(CUSHIM_STATIC))
#define VALUES_SEES_LIBRARY_ALLOCATIONS 1
#else
#define VALUES_SEES_LIBRARY_ALLOCATIONS 0
#endif
