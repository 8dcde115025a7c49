/* Access of drop-in functions to their slots, for generated sources.
 *
 * Each generated function is one expression: it loads the slot and jumps to its target, with the
 * caller's arguments still in place.
 */
#ifndef CUSHIM_DETAIL_FORWARD_H
#define CUSHIM_DETAIL_FORWARD_H

#include <cushim/detail/config.h>

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

/* Keeps a function to the program or library that contains it, although its header exports it. */
#if defined(__ELF__) && defined(__GNUC__)
#define CUSHIM_HIDE(function) __asm__(".hidden " #function);
#else
#define CUSHIM_HIDE(function)
#endif

#endif
