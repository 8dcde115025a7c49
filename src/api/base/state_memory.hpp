// Memory of states. A thread keeps a few freed blocks for its next states, since allocating and
// freeing a state would take half of the time that a wrapper adds to creating and destroying an
// object.
#pragma once

#include <cstddef>
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

// The blocks of a thread, a list through their first words. They are freed when the thread ends. A
// child of fork has those of the thread that called fork.
struct SpareStates {
    static constexpr std::size_t block_size = 112; // of all states that are not larger
    static constexpr unsigned int capacity = 16;

    void *first = nullptr;
    // How many more blocks the thread keeps: 0 also before the first one is freed, and at the end
    // of the thread.
    unsigned int room = 0;
};

#if CUSHIM_SPARE_STATES
inline constinit thread_local SpareStates spare_states;

// Keeps the first block that a thread frees; frees other blocks.
void free_state_block(void *block) noexcept;
#endif

inline void *allocate_state(std::size_t size) noexcept {
#if CUSHIM_SPARE_STATES
    if (size <= SpareStates::block_size) {
        SpareStates &spares = spare_states;
        if (void *const block = spares.first) [[likely]] {
            spares.first = *static_cast<void **>(block);
            ++spares.room;
            return block;
        }
        size = SpareStates::block_size;
    }
#endif
    return ::operator new(size, std::nothrow);
}

// The size is that of the allocation.
inline void free_state(void *state, [[maybe_unused]] std::size_t size) noexcept {
#if CUSHIM_SPARE_STATES
    if (size <= SpareStates::block_size) {
        SpareStates &spares = spare_states;
        if (spares.room == 0) [[unlikely]] {
            free_state_block(state);
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

} // namespace cushim::detail
