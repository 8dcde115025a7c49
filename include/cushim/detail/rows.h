/* What the generated first-call functions of a table need. Usable from C11 and C++11. */
#ifndef CUSHIM_DETAIL_ROWS_H
#define CUSHIM_DETAIL_ROWS_H

#include <cushim/loader.h>

#define CUSHIM_SLOT(name) ((cushim_function *)&cushim_slot_##name)
#define CUSHIM_FIRST_CALL(name) ((cushim_function)cushim_first_##name)

#if defined(__GNUC__)
#define CUSHIM_UNLIKELY(condition) __builtin_expect(condition, 0)
/* Compilers align long texts to 16 or 32 bytes, which costs 10 KB for all rows. */
#define CUSHIM_UNALIGNED __attribute__((aligned(1)))
#else
#define CUSHIM_UNLIKELY(condition) (condition)
#define CUSHIM_UNALIGNED
#endif

/* Defines the constant part of a row: two bytes of the version that introduced it, high byte first,
 * then its exported name. A block without pointers needs no relocation. */
#define CUSHIM_ROW(name, bytes)                                                                    \
    extern const char cushim_row_##name[];                                                         \
    CUSHIM_UNALIGNED const char cushim_row_##name[] = bytes

#endif
