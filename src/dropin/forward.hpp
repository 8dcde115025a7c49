/* Access of drop-in functions to their slots.
 *
 * Each generated function is one expression: it loads the slot and jumps to its target, with the
 * caller's arguments still in place.
 */
#pragma once

#include <cushim/detail/config.h>

#include "../loader/marker.hpp"

// Identifies a program with the drop-in for `cushim-info --audit`.
CUSHIM_MARK(cushim_dropin_mark, cushim::marker_dropin);

#if defined(__SANITIZE_THREAD__)
#define CUSHIM_FORWARD_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUSHIM_FORWARD_UNDER_TSAN 1
#endif
#endif

/* On x86, an acquire load is free, but no compiler folds it into the jump, so it costs a second
 * instruction. A relaxed load is folded. It is sufficient: the processor does not reorder later
 * loads before it, and the compiler has nothing to reorder, since the functions only load and jump
 * and are compiled into separate objects. ThreadSanitizer and unoptimized builds, which do not
 * jump, use the same load as the tables. */
#if defined(__x86_64__) && defined(__GNUC__) && defined(__OPTIMIZE__) &&                           \
    !defined(CUSHIM_FORWARD_UNDER_TSAN)
#define CUSHIM_FORWARD(slot) __atomic_load_n(&(slot), __ATOMIC_RELAXED)
#else
#define CUSHIM_FORWARD(slot) CUSHIM_LOAD_SLOT(slot)
#endif

/* In the exported library, runtime API functions have a symbol version, as in libcudart. Its name
 * contains the major version, as there, since structures differ between major versions. A library
 * that is linked to a libcudart requests the version of that libcudart and keeps using it, although
 * the program has functions of the same names. A library that is linked to no libcudart requests no
 * version and finds these. The functions of libcuda have no version. The third @: the function has
 * no unversioned name. CUSHIM_DROPIN_VERSION is the name of the version; the build defines it. */
#if defined(CUSHIM_DROPIN_VERSION)
#define CUSHIM_GIVE_VERSION(function)                                                              \
    __asm__(".symver " #function ", " #function "@@@" CUSHIM_DROPIN_VERSION)
#else
#define CUSHIM_GIVE_VERSION(function) static_assert(true)
#endif
