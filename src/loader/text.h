/* Texts and paths on the heap: threads that call CUDA first may have small stacks. Without printf,
 * which would be a large part of the cost of the first call. */
#pragma once

#if defined(__GNUC__)
#define CUSHIM_SENTINEL __attribute__((sentinel))
#else
#define CUSHIM_SENTINEL
#endif

/* The joined pieces. The caller frees the result; NULL if out of memory. */
#define CUSHIM_JOIN(...) cushim_join_text(__VA_ARGS__, (const char *)0)
CUSHIM_SENTINEL char *cushim_join_text(const char *piece, ...);

/* Copies a text to the heap; NULL if out of memory. */
char *cushim_copy_text(const char *text);

/* The text of a CUDA version: "12.6". */
typedef struct {
    char chars[16];
} VersionDigits;

VersionDigits cushim_version_digits(int packed);
