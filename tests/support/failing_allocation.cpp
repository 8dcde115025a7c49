#include "failing_allocation.hpp"

#if defined(API_TEST_ALLOCATIONS_FAIL) || (defined(COUNTS_ALLOCATIONS) && TEST_OWNS_OPERATOR_NEW)

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace support {
namespace {

thread_local long left = 0;                // 0: all allocations succeed
std::atomic<long> left_of_all_threads = 0; // as above
thread_local void (*at_next)() = nullptr;
std::atomic<long> all = 0, live = 0;
std::atomic<bool> no_memory = false;

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
    void *const memory = fails() ? nullptr : std::malloc(size != 0 ? size : 1);
    if (memory != nullptr) {
        ++all;
        ++live;
    }
    return memory;
}

void deallocate(void *memory) noexcept {
    if (memory != nullptr) {
        --live;
        std::free(memory);
    }
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

long allocations() {
    return all;
}
long live_allocations() {
    return live;
}

NoMemory::NoMemory() {
    no_memory = true;
}
NoMemory::~NoMemory() {
    no_memory = false;
}

AtAllocation::AtAllocation(void (*function)()) {
    at_next = function;
}
AtAllocation::~AtAllocation() {
    at_next = nullptr;
}

} // namespace support

// Also replaces the array forms, because a sanitizer's array forms do not call these.
void *operator new(std::size_t size) {
    if (void *const memory = support::allocate(size)) {
        return memory;
    }
#ifdef __cpp_exceptions
    throw std::bad_alloc();
#else
    std::abort();
#endif
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return support::no_memory ? nullptr : support::allocate(size);
}
void *operator new[](std::size_t size) {
    return operator new(size);
}
void *operator new[](std::size_t size, const std::nothrow_t &tag) noexcept {
    return operator new(size, tag);
}
void operator delete(void *memory) noexcept {
    support::deallocate(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    support::deallocate(memory);
}
void operator delete(void *memory, const std::nothrow_t &) noexcept {
    support::deallocate(memory);
}
void operator delete[](void *memory) noexcept {
    support::deallocate(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
    support::deallocate(memory);
}
void operator delete[](void *memory, const std::nothrow_t &) noexcept {
    support::deallocate(memory);
}

#endif
