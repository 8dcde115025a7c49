// Lets one allocation fail, of whatever this thread allocates through operator new: the wrappers, and a simulated
// driver.
#pragma once

// Not where clang's sanitizers have an operator new of their own, which nobody replaces, nor in DLLs.
#if !defined(_WIN32)
#define API_TEST_ALLOCATIONS_FAIL 1
#endif
#if defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#undef API_TEST_ALLOCATIONS_FAIL
#endif
#endif

namespace api_test {

class FailingAllocation {
  public:
    // The one of this number, from 1 on, while this lives.
    explicit FailingAllocation(long nth);
    ~FailingAllocation();
    FailingAllocation(const FailingAllocation &) = delete;
    FailingAllocation &operator=(const FailingAllocation &) = delete;
};

// Does something at this thread's next allocation, as another thread might at that moment.
class AtAllocation {
  public:
    explicit AtAllocation(void (*function)());
    ~AtAllocation();
    AtAllocation(const AtAllocation &) = delete;
    AtAllocation &operator=(const AtAllocation &) = delete;
};

} // namespace api_test
