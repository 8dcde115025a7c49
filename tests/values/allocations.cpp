#include "allocations.hpp"

#if VALUES_COUNTS_ALLOCATIONS

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace values {
namespace {

std::atomic<long> all;
std::atomic<long> live;
std::atomic<bool> no_memory;

void *allocate(std::size_t size) {
    void *memory = std::malloc(size != 0 ? size : 1);
    if (memory != nullptr) {
        ++all;
        ++live;
    }
    return memory;
}

void deallocate(void *memory) {
    if (memory != nullptr) {
        --live;
        std::free(memory);
    }
}

} // namespace

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

} // namespace values

void *operator new(std::size_t size) {
    void *memory = values::allocate(size);
    if (memory == nullptr) {
        std::abort();
    }
    return memory;
}
void *operator new[](std::size_t size) {
    return operator new(size);
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return values::no_memory ? nullptr : values::allocate(size);
}
void *operator new[](std::size_t size, const std::nothrow_t &tag) noexcept {
    return operator new(size, tag);
}
void operator delete(void *memory) noexcept {
    values::deallocate(memory);
}
void operator delete[](void *memory) noexcept {
    values::deallocate(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    values::deallocate(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
    values::deallocate(memory);
}
void operator delete(void *memory, const std::nothrow_t &) noexcept {
    values::deallocate(memory);
}
void operator delete[](void *memory, const std::nothrow_t &) noexcept {
    values::deallocate(memory);
}

#endif
