#include "soak.hpp"

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

std::atomic<std::size_t> live = 0;

void *allocate(std::size_t size) noexcept {
    void *const memory = std::malloc(size != 0 ? size : 1);
    live.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed);
    return memory;
}

void release(void *memory) noexcept {
    live.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
    std::free(memory);
}

} // namespace

std::size_t gpu_test::live_bytes() noexcept {
    return live.load(std::memory_order_relaxed);
}

void *operator new(std::size_t size) {
    if (void *const memory = allocate(size)) {
        return memory;
    }
    throw std::bad_alloc();
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return allocate(size);
}
void operator delete(void *memory) noexcept {
    release(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    release(memory);
}
void operator delete(void *memory, const std::nothrow_t &) noexcept {
    release(memory);
}
