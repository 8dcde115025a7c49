/* Finds an entry point in a loaded library, or determines the status that its calls return. */
#pragma once

#include "loaded_library.hpp"

namespace cushim {

/* From cuda.h and driver_types.h; the numbers are part of the CUDA ABI. */
enum Status {
    status_stub_library = 34,
    status_insufficient_driver = 35, // runtime only
    status_requires_newer_driver = 36,
    status_symbol_not_found = 302,
    status_library_not_found = 303,
};

struct Resolved {
    cushim_function function; // nullptr if not available
    int status;               // in this case: the status that calls return
};

/* By exact exported name; `introduced` is the version that introduced it, 0 if unknown. Loads the
 * library. */
Resolved resolve(Library &library, const char *name, int introduced);

/* The function that a loaded library exports under this name; nullptr if it does not. */
cushim_function find_exported(const LoadedLibrary &loaded, const char *name);

/* A function of a libcudart that is loaded but not used for lack of a driver; null without one. For
 * functions that need no driver. Never loads. */
cushim_function find_in_unused_runtime(const char *name);

/* Finds the entry point in its loaded library and publishes it. The slot is changed only if it
 * still holds its own thunk, so an override is never overwritten. Returns 0 or the status. */
int resolve_slot_in(const LoadedLibrary &loaded, const Library &library, cushim_function *slot,
                    cushim_function first, const char *name, int introduced);

/* The same; loads the library. Inline with the function that returns the status of an absent
 * library, since every call of an absent library does this. */
template <class AbsentStatus>
int resolve_slot(Library &library, AbsentStatus absent_status, cushim_function *slot,
                 cushim_function first, const char *name, int introduced) {
    const LoadedLibrary *record = ensure_loaded(library);
    return is_used(record) ? resolve_slot_in(*record, library, slot, first, name, introduced)
                           : absent_status(record);
}
int resolve_slot(Library &library, cushim_function *slot, cushim_function first, const char *name,
                 int introduced);

} // namespace cushim
