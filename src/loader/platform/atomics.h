/* The four atomic operations that the loader needs, on pointers and integers. <stdatomic.h> needs
 * objects of atomic types, and slots have the types of CUDA functions. */
#pragma once

#include <stdbool.h>

/* CUSHIM_REPLACE(place, expected, value): true if `place` held what `expected` points to, which is
 * then replaced by `value`; otherwise `*expected` receives the content. */
#if defined(__GNUC__)

#define CUSHIM_LOAD(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define CUSHIM_STORE(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
#define CUSHIM_EXCHANGE(place, value) __atomic_exchange_n(place, value, __ATOMIC_ACQ_REL)
#define CUSHIM_REPLACE(place, expected, value)                                                     \
    __atomic_compare_exchange_n(place, expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#else /* MSVC: its volatile accesses acquire and release, its intrinsics are full barriers */

#include <intrin.h>

#ifdef __cplusplus
#define CUSHIM_TYPE_AT(place) decltype(+*(place))
#else
#define CUSHIM_TYPE_AT(place) __typeof__(*(place))
#endif
#define CUSHIM_LOAD(place) (*(CUSHIM_TYPE_AT(place) const volatile *)(place))
#define CUSHIM_STORE(place, value) ((void)(*(CUSHIM_TYPE_AT(place) volatile *)(place) = (value)))

/* Only for pointers, and integers of their size. */
#define CUSHIM_EXCHANGE(place, value)                                                              \
    _InterlockedExchangePointer((void *volatile *)(place), (void *)(value))
#define CUSHIM_REPLACE(place, expected, value)                                                     \
    cushim_replace_pointer((void *volatile *)(place), (void **)(expected), (void *)(value))

static inline bool cushim_replace_pointer(void *volatile *place, void **expected, void *value) {
    void *before = _InterlockedCompareExchangePointer(place, value, *expected);
    const bool done = before == *expected;
    *expected = before;
    return done;
}

#endif
