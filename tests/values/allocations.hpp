// Counts what this program allocates through operator new, and can make that fail.
#pragma once

#include "../support/sanitizers.h"

// Whether allocations are counted.
#define VALUES_COUNTS_ALLOCATIONS TEST_OWNS_OPERATOR_NEW

// Whether the library's own allocations are among them: those of a DLL go another way.
#if VALUES_COUNTS_ALLOCATIONS && (!defined(_WIN32) || defined(CUSHIM_STATIC))
#define VALUES_SEES_LIBRARY_ALLOCATIONS 1
#else
#define VALUES_SEES_LIBRARY_ALLOCATIONS 0
#endif

namespace values {

// Allocations since the program started.
long allocations();

// Allocations that have not been freed.
long live_allocations();

// As long as this lives, the form of operator new that does not throw has no memory to give.
class NoMemory {
  public:
    NoMemory();
    NoMemory(const NoMemory &) = delete;
    NoMemory &operator=(const NoMemory &) = delete;
    ~NoMemory();
};

} // namespace values
