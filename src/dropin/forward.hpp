/* How a function of the drop-in reads its slot.
 *
 * The generated functions are one expression each: load the slot, and leave by a jump to where it
 * points, with the caller's own arguments still in place.
 */
#pragma once

#include <cushim/detail/config.h>

#include "../loader/marker.hpp"

// So that `cushim-info --audit` knows a program that has the drop-in.
CUSHIM_MARK(cushim_dropin_mark, cushim::marker_dropin);

#if defined(__SANITIZE_THREAD__)
#define CUSHIM_FORWARD_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUSHIM_FORWARD_UNDER_TSAN 1
#endif
#endif

/* An acquiring load costs x86 nothing, but no compiler makes it part of the jump: that would be a
 * second instruction. Relaxed does there. The processor does not let later loads overtake this one,
 * and the compiler has nothing to move past it: the functions do nothing but load and jump, and are
 * compiled to objects of their own. ThreadSanitizer and unoptimised builds, which do not jump, get
 * what the tables have. */
#if defined(__x86_64__) && defined(__GNUC__) && defined(__OPTIMIZE__) &&                           \
    !defined(CUSHIM_FORWARD_UNDER_TSAN)
#define CUSHIM_FORWARD(slot) __atomic_load_n(&(slot), __ATOMIC_RELAXED)
#else
#define CUSHIM_FORWARD(slot) CUSHIM_LOAD_SLOT(slot)
#endif

/* In the exported library the runtime API's functions have a version, as libcudart's own have; with
 * the major version in its name, as there, since the structures of another one have other members.
 * What is linked to a libcudart asks for the version of that one, and keeps to it although the
 * program has functions of the same names; what is linked to none asks for no version, and finds
 * these. The functions of libcuda have none. The third @: the function keeps no name without a
 * version. CUSHIM_DROPIN_VERSION is that name; the build defines it. */
#if defined(CUSHIM_DROPIN_VERSION)
#define CUSHIM_GIVE_VERSION(function)                                                              \
    __asm__(".symver " #function ", " #function "@@@" CUSHIM_DROPIN_VERSION)
#else
#define CUSHIM_GIVE_VERSION(function) static_assert(true)
#endif
