/* The four atomic operations that the loader needs, on pointers and ints, without <atomic>, which
 * would bring in a C++ runtime's headers and 220 ms of parsing. */
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

/* True if the place held `expected` and holds `value` now; else `expected` is what it holds. */
template <class T>
bool replace(T *place, T &expected, T value) {
    return __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

#else // MSVC: its volatile accesses acquire and release, its intrinsics are full barriers

static_assert(sizeof(long) == sizeof(int));

template <class T>
T load(const T *place) {
    return *const_cast<const volatile T *>(place);
}

template <class T>
void store(T *place, T value) {
    *const_cast<volatile T *>(place) = value;
}

template <class T>
T *exchange(T **place, T *value) {
    return static_cast<T *>(
        _InterlockedExchangePointer(reinterpret_cast<void *volatile *>(place),
                                    const_cast<void *>(static_cast<const void *>(value))));
}

template <class R, class... A>
auto exchange(R (**place)(A...), R (*value)(A...)) -> R (*)(A...) {
    return reinterpret_cast<R (*)(A...)>(_InterlockedExchangePointer(
        reinterpret_cast<void *volatile *>(place), reinterpret_cast<void *>(value)));
}

template <class T>
bool replace(T *place, T &expected, T value) {
    static_assert(sizeof(T) == sizeof(void *));
    void *before = _InterlockedCompareExchangePointer(reinterpret_cast<void *volatile *>(place),
                                                      (void *)value, (void *)expected);
    const bool done = before == (void *)expected;
    expected = (T)before;
    return done;
}

#endif

} // namespace cushim::atomics
