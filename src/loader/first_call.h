/* Functions that the generated first-call functions call.
 *
 * A slot initially holds its own first-call function. This resolves the function and stores it in
 * the slot, so later calls contain no check. If the function is not available, the slot keeps the
 * first-call function, which returns the status for the reason.
 */
#pragma once

#include <cushim/detail/rows.h>

#include "library.h"

/* From cuda.h and driver_types.h; the numbers are part of the CUDA ABI. */
enum {
    CUSHIM_STATUS_STUB_LIBRARY = 34,
    CUSHIM_STATUS_INSUFFICIENT_DRIVER = 35, // runtime only
    CUSHIM_STATUS_REQUIRES_NEWER_DRIVER = 36,
    CUSHIM_STATUS_SYMBOL_NOT_FOUND = 302,
    CUSHIM_STATUS_LIBRARY_NOT_FOUND = 303
};

/* The parts of a constant that CUSHIM_ROW defines. */
static inline int cushim_row_introduced(const char *row) {
    return (unsigned char)row[0] << 8 | (unsigned char)row[1];
}
static inline const char *cushim_row_name(const char *row) {
    return row + 2;
}

/* Defines the symbol of a slot that is a member of `table`. In assembly: in C, an alias cannot be a
 * part of an object. */
#define CUSHIM_NAME_SLOT(table, name, index) CUSHIM_NAME_SLOT_(table, name, index)
#define CUSHIM_NAME_SLOT_(table, name, index)                                                      \
    __asm__(".globl cushim_slot_" #name "\n"                                                       \
            ".protected cushim_slot_" #name "\n"                                                   \
            ".type cushim_slot_" #name ", %object\n"                                               \
            ".size cushim_slot_" #name ", 8\n"                                                     \
            ".set cushim_slot_" #name ", " #table " + 8 * " #index);

/* Whether a status means that the library is present but lacks the function. */
static inline bool cushim_is_missing(int status) {
    return status == CUSHIM_STATUS_REQUIRES_NEWER_DRIVER ||
           status == CUSHIM_STATUS_SYMBOL_NOT_FOUND;
}

/* Returns 0 if the slot holds a function to call; otherwise the status to return. */
int cushim_first_call_driver(cushim_function *slot, cushim_function first, const char *row);
int cushim_first_call_runtime(cushim_function *slot, cushim_function first, const char *row);

/* The same for functions that do not set the last error: cudaGetLastError is unchanged. */
int cushim_first_call_runtime_quiet(cushim_function *slot, cushim_function first, const char *row);

/* --- for the loader itself --- */

/* The function with this exported name; NULL and the status that calls return if it is not
 * available. `introduced` is the version that introduced it, 0 if unknown. Loads the library. */
cushim_function cushim_find(Library *library, const char *name, int introduced, int *status);

/* The function that a loaded library exports under this name; NULL if it does not. */
cushim_function cushim_find_exported(const SearchRecord *loaded, const char *name);

/* Finds the entry point in its loaded library and publishes it. The slot is changed only if it
 * still holds its own first-call function, so an override is never overwritten. Returns 0 or the
 * status. */
int cushim_resolve_slot_in(const SearchRecord *loaded, const Library *library,
                           cushim_function *slot, cushim_function first, const char *name,
                           int introduced);

/* The status of all functions of an absent library. */
static inline int cushim_status_without(const Library *library, const SearchRecord *record) {
    switch (cushim_kind_of(library)) {
    case KIND_DRIVER:
        return record != NULL && record->report.reason == CUSHIM_REASON_LINK_STUB
                   ? CUSHIM_STATUS_STUB_LIBRARY
                   : CUSHIM_STATUS_LIBRARY_NOT_FOUND;
    case KIND_RUNTIME:
        return cushim_is_usable(cushim_ensure_loaded(&cushim_driver_library))
                   ? CUSHIM_STATUS_LIBRARY_NOT_FOUND
                   : CUSHIM_STATUS_INSUFFICIENT_DRIVER;
    case KIND_FURTHER:
        break;
    }
    return CUSHIM_CALL_ABSENT;
}

/* The same as cushim_resolve_slot_in; loads the library. Inline, since every call of an absent
 * library does this. */
static inline int cushim_resolve_slot(Library *library, cushim_function *slot,
                                      cushim_function first, const char *name, int introduced) {
    const SearchRecord *record = cushim_ensure_loaded(library);
    return cushim_is_usable(record)
               ? cushim_resolve_slot_in(record, library, slot, first, name, introduced)
               : cushim_status_without(library, record);
}
