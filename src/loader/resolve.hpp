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
Resolved resolve(cushim_library library, const char *name, int introduced);

/* A function of a libcudart that is loaded but not used for lack of a driver; null without one. For
 * functions that need no driver. Never loads. */
cushim_function find_in_unused_runtime(const char *name);

/* Resolves and publishes. The slot is changed only if it still holds its own thunk, so an override
 * is never overwritten. */
int resolve_slot(cushim_library library, cushim_function *slot, cushim_function first,
                 const char *name, int introduced);

} // namespace cushim
