// Whether the tests count allocations (support/failing_allocation.hpp), and whether that includes
// the library's own: a DLL has its own operator new.
#pragma once

#include "../support/failing_allocation.hpp"

#define VALUES_COUNTS_ALLOCATIONS TEST_OWNS_OPERATOR_NEW
#if VALUES_COUNTS_ALLOCATIONS && (!defined(_WIN32) || defined(CUSHIM_STATIC))
#define VALUES_SEES_LIBRARY_ALLOCATIONS 1
#else
#define VALUES_SEES_LIBRARY_ALLOCATIONS 0
#endif
