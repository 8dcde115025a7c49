// Lets one allocation fail, of whatever this thread allocates through operator new: the wrappers,
// and a simulated driver. Counts all allocations.
#pragma once

#include "sanitizers.h"

// Not in DLLs, whose allocations go another way.
#if TEST_OWNS_OPERATOR_NEW && !defined(_WIN32)
#define API_TEST_ALLOCATIONS_FAIL 1
#endif

namespace support {

class FailingAllocation {
  public:
    enum class Threads { own, all };
    // The one of this number, from 1 on, while this lives.
    explicit FailingAllocation(long nth, Threads threads = Threads::own);
    ~FailingAllocation();
    // Whether it has failed. Of all threads' allocations.
    bool has_failed() const noexcept;
    FailingAllocation(const FailingAllocation &) = delete;
    FailingAllocation &operator=(const FailingAllocation &) = delete;
};

// Allocations since the program started, and those that have not been freed.
long allocations();
long live_allocations();

// While this lives, the form of operator new that does not throw has no memory.
class NoMemory {
  public:
    NoMemory();
    ~NoMemory();
    NoMemory(const NoMemory &) = delete;
    NoMemory &operator=(const NoMemory &) = delete;
};

// Does something at this thread's next allocation, as another thread might at that moment.
class AtAllocation {
  public:
    explicit AtAllocation(void (*function)());
    ~AtAllocation();
    AtAllocation(const AtAllocation &) = delete;
    AtAllocation &operator=(const AtAllocation &) = delete;
};

} // namespace support
