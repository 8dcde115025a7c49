// Makes one allocation through operator new fail, in this thread or all, of the wrappers or a
// simulated driver. Counts all allocations.
#pragma once

#include "sanitizers.h"

// Not for DLLs, which have their own operator new.
#if TEST_OWNS_OPERATOR_NEW && !defined(_WIN32)
#define API_TEST_ALLOCATIONS_FAIL 1
#endif

namespace support {

class FailingAllocation {
  public:
    enum class Threads { own, all };
    // Allocation number `nth`, counted from 1, fails during the lifetime of this object.
    explicit FailingAllocation(long nth, Threads threads = Threads::own);
    ~FailingAllocation();
    // Whether it has failed, in any thread.
    bool has_failed() const noexcept;
    FailingAllocation(const FailingAllocation &) = delete;
    FailingAllocation &operator=(const FailingAllocation &) = delete;
};

// The number of allocations since the program started, and of those not yet freed.
long allocations();
long live_allocations();

// During its lifetime, the nothrow form of operator new returns null.
class NoMemory {
  public:
    NoMemory();
    ~NoMemory();
    NoMemory(const NoMemory &) = delete;
    NoMemory &operator=(const NoMemory &) = delete;
};

// Calls a function at this thread's next allocation, as another thread might at that moment.
class AtAllocation {
  public:
    explicit AtAllocation(void (*function)());
    ~AtAllocation();
    AtAllocation(const AtAllocation &) = delete;
    AtAllocation &operator=(const AtAllocation &) = delete;
};

} // namespace support
