/* The four atomic operations that the loader needs, on pointers and ints. <atomic> would add
 * headers of the C++ runtime and 220 ms of parsing. */
#pragma once

#if !defined(__GNUC__)
#include <intrin.h>
#endif

namespace cushim::atomics {

#if defined(__GNUC__)

template <class T>
T load(const T *place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

template <class T>
void store(T *place, T value) {
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
}

template <class T>
T exchange(T *place, T value) {
    return __atomic_exchange_n(place, value, __ATOMIC_ACQ_REL);
}

/* True if the location held `expected`, which is then replaced by `value`; otherwise `expected`
 * receives its content. */
template <class T>
bool replace(T *place, T &expected, T value) {
    return __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

#else // MSVC: its volatile accesses acquire and release, its intrinsics are full barriers

template <class T>
T load(const T *place) {
    return *const_cast<const volatile T *>(place);
}

template <class T>
void store(T *place, T value) {
    *const_cast<volatile T *>(place) = value;
}

/* Pointer-sized values use the pointer intrinsics; all others are ints. */
template <class T>
T exchange(T *place, T value) {
    if constexpr (sizeof(T) == sizeof(void *)) {
        return (T)_InterlockedExchangePointer((void *volatile *)place, (void *)value);
    } else {
        static_assert(sizeof(T) == sizeof(long));
        return (T)_InterlockedExchange((volatile long *)place, (long)value);
    }
}

template <class T>
bool replace(T *place, T &expected, T value) {
    static_assert(sizeof(T) == sizeof(void *));
    const T before = (T)_InterlockedCompareExchangePointer((void *volatile *)place, (void *)value,
                                                           (void *)expected);
    const bool done = before == expected;
    expected = before;
    return done;
}

#endif

} // namespace cushim::atomics
