/* Functions that the generated first-call functions call.
 *
 * A slot initially holds its own first-call function. This resolves the function and stores it in
 * the slot, so later calls contain no check. If the function is not available, the slot keeps the
 * first-call function, which returns the status for the reason.
 */
#pragma once

#include <stdbool.h>

#include <cushim/detail/rows.h>

/* The parts of a constant that CUSHIM_ROW defines. */
static inline int cushim_row_introduced(const char *row) {
    return (unsigned char)row[0] << 8 | (unsigned char)row[1];
}
static inline const char *cushim_row_name(const char *row) {
    return row + 2;
}

/* Whether a status means that the library is present but lacks the function. */
static inline bool cushim_is_missing(int status) {
    return status == 36 || status == 302;
}

/* Returns 0 if the slot holds a function to call; otherwise the status to return. */
int cushim_first_call_driver(cushim_function *slot, cushim_function first, const char *row);
int cushim_first_call_runtime(cushim_function *slot, cushim_function first, const char *row);

/* The same for functions that do not set the last error: cudaGetLastError is unchanged. */
int cushim_first_call_runtime_quiet(cushim_function *slot, cushim_function first, const char *row);
