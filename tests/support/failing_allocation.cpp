#include "failing_allocation.hpp"

#ifdef API_TEST_ALLOCATIONS_FAIL

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace support {
namespace {

thread_local long left = 0;                // 0: none fails
std::atomic<long> left_of_all_threads = 0; // likewise
thread_local void (*at_next)() = nullptr;

bool fails() noexcept {
    if (left_of_all_threads.load(std::memory_order_relaxed) != 0) {
        return left_of_all_threads.fetch_sub(1) == 1;
    }
    return left != 0 && --left == 0;
}

void *allocate(std::size_t size) noexcept {
    if (at_next != nullptr) {
        std::exchange(at_next, nullptr)();
    }
    return fails() ? nullptr : std::malloc(size != 0 ? size : 1);
}

} // namespace

FailingAllocation::FailingAllocation(long nth, Threads threads) {
    if (threads == Threads::own) {
        left = nth;
    } else {
        left_of_all_threads = nth;
    }
}
FailingAllocation::~FailingAllocation() {
    left = 0;
    left_of_all_threads = 0;
}
bool FailingAllocation::has_failed() const noexcept {
    return left_of_all_threads <= 0;
}

AtAllocation::AtAllocation(void (*function)()) {
    at_next = function;
}
AtAllocation::~AtAllocation() {
    at_next = nullptr;
}

} // namespace support

// Those of arrays, too: a sanitizer's own would not come here.
void *operator new(std::size_t size) {
    if (void *const memory = support::allocate(size)) {
        return memory;
    }
    throw std::bad_alloc();
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return support::allocate(size);
}
void *operator new[](std::size_t size) {
    return operator new(size);
}
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept {
    return support::allocate(size);
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, const std::nothrow_t &) noexcept {
    std::free(memory);
}
void operator delete[](void *memory) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, const std::nothrow_t &) noexcept {
    std::free(memory);
}

#endif
