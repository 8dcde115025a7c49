// Counts what this program allocates through operator new, and can make that fail.
#pragma once

// Whether allocations are counted: clang's sanitizers, which have an operator new of their own, let
// nobody replace it.
#define VALUES_COUNTS_ALLOCATIONS 1
#if defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#undef VALUES_COUNTS_ALLOCATIONS
#define VALUES_COUNTS_ALLOCATIONS 0
#endif
#endif

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
