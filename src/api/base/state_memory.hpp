// Memory of states. A thread keeps a few freed blocks for its next states, since allocating and
// freeing a state would take half of the time that a wrapper adds to creating and destroying an
// object.
#pragma once

#include <cstddef>
#include <iterator>
#include <new>

// Sanitizers find uses of freed states only if these are freed; thread_local is slow with mingw.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(_WIN32)
#define CUSHIM_SPARE_STATES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define CUSHIM_SPARE_STATES 0
#endif
#endif
#ifndef CUSHIM_SPARE_STATES
#define CUSHIM_SPARE_STATES 1
#endif

namespace cushim::detail {

// Sizes of blocks: for all states that fit, and for those of graphs.
inline constexpr std::size_t spare_sizes[] = {112, 208};
inline constexpr std::size_t spare_kinds = std::size(spare_sizes);

// The kind of block for a state; spare_kinds if it is too large.
constexpr std::size_t spare_kind(std::size_t size) noexcept {
    std::size_t kind = 0;
    while (kind < spare_kinds && size > spare_sizes[kind]) {
        ++kind;
    }
    return kind;
}

// The blocks of one kind that a thread keeps, a list through their first words. They are freed when
// the thread ends. A child of fork has those of the thread that called fork.
struct SpareStates {
    static constexpr unsigned int capacity = 16;

    void *first = nullptr;
    // How many more blocks the thread keeps: 0 also before the first one is freed, and at the end
    // of the thread.
    unsigned int room = 0;
};

#if CUSHIM_SPARE_STATES
inline constinit thread_local SpareStates spare_states[spare_kinds];

// Keeps the first block that a thread frees; frees other blocks.
void free_state_block(void *block, std::size_t kind) noexcept;
#endif

[[gnu::always_inline]] inline void *allocate_state(std::size_t size) noexcept {
#if CUSHIM_SPARE_STATES
    if (const std::size_t kind = spare_kind(size); kind < spare_kinds) {
        SpareStates &spares = spare_states[kind];
        if (void *const block = spares.first) [[likely]] {
            spares.first = *static_cast<void **>(block);
            ++spares.room;
            return block;
        }
        size = spare_sizes[kind];
    }
#endif
    return ::operator new(size, std::nothrow);
}

// The size is that of the allocation.
[[gnu::always_inline]] inline void free_state(void *state,
                                              [[maybe_unused]] std::size_t size) noexcept {
#if CUSHIM_SPARE_STATES
    if (const std::size_t kind = spare_kind(size); kind < spare_kinds) {
        SpareStates &spares = spare_states[kind];
        if (spares.room == 0) [[unlikely]] {
            free_state_block(state, kind);
            return;
        }
        *static_cast<void **>(state) = spares.first;
        spares.first = state;
        --spares.room;
        return;
    }
#endif
    ::operator delete(state);
}

// For std::allocate_shared().
template <class T>
struct StateAllocator {
    using value_type = T;

    StateAllocator() noexcept = default;
    template <class U>
    StateAllocator(const StateAllocator<U> &) noexcept {}

    T *allocate(std::size_t) const {
        void *const block = allocate_state(sizeof(T));
        if (block == nullptr) [[unlikely]] {
            throw std::bad_alloc();
        }
        return static_cast<T *>(block);
    }
    void deallocate(T *block, std::size_t) const noexcept { free_state(block, sizeof(T)); }

    friend bool operator==(StateAllocator, StateAllocator) noexcept { return true; }
};

} // namespace cushim::detail
