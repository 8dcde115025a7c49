/* Finds an entry point in a loaded library, or determines the status that its calls return. */
#pragma once

#include "loaded_library.h"

/* From cuda.h and driver_types.h; the numbers are part of the CUDA ABI. */
enum {
    CUSHIM_STATUS_STUB_LIBRARY = 34,
    CUSHIM_STATUS_INSUFFICIENT_DRIVER = 35, // runtime only
    CUSHIM_STATUS_REQUIRES_NEWER_DRIVER = 36,
    CUSHIM_STATUS_SYMBOL_NOT_FOUND = 302,
    CUSHIM_STATUS_LIBRARY_NOT_FOUND = 303
};

/* The function with this exported name; NULL and the status that calls return if it is not
 * available. `introduced` is the version that introduced it, 0 if unknown. Loads the library. */
cushim_function cushim_resolve(Library *library, const char *name, int introduced, int *status);

/* The function that a loaded library exports under this name; NULL if it does not. */
cushim_function cushim_find_exported(const LoadedLibrary *loaded, const char *name);

/* A function of a libcudart that is loaded but not used for lack of a driver; NULL without one. For
 * functions that need no driver. Never loads. */
cushim_function cushim_find_in_unused_runtime(const char *name);

/* Finds the entry point in its loaded library and publishes it. The slot is changed only if it
 * still holds its own first-call function, so an override is never overwritten. Returns 0 or the
 * status. */
int cushim_resolve_slot_in(const LoadedLibrary *loaded, const Library *library,
                           cushim_function *slot, cushim_function first, const char *name,
                           int introduced);

/* The same; loads the library. Inline with the function that returns the status of an absent
 * library, since every call of an absent library does this. */
static inline int cushim_resolve_slot_of(Library *library,
                                         int (*absent_status)(const LoadedLibrary *record),
                                         cushim_function *slot, cushim_function first,
                                         const char *name, int introduced) {
    const LoadedLibrary *record = cushim_ensure_loaded(library);
    return cushim_is_used(record)
               ? cushim_resolve_slot_in(record, library, slot, first, name, introduced)
               : absent_status(record);
}
int cushim_resolve_slot(Library *library, cushim_function *slot, cushim_function first,
                        const char *name, int introduced);
