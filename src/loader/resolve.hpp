/* Finds one entry point in a loaded library, and says what a call answers when there is none. */
#pragma once

#include "loaded_library.hpp"

namespace cushim {

/* Of cuda.h and driver_types.h; the numbers are part of CUDA's ABI. */
enum Status {
    status_stub_library = 34,
    status_insufficient_driver = 35, // runtime only
    status_requires_newer_driver = 36,
    status_symbol_not_found = 302,
    status_library_not_found = 303,
};

struct Resolved {
    cushim_function function; // nullptr where there is none
    int status;               // then: what a call answers
};

/* By the exact exported name; `introduced` is the version that brought it, 0 if unknown. Loads. */
Resolved resolve(cushim_library library, const char *name, int introduced);

/* A function of a libcudart that is loaded and not used, since there is no driver; null without
 * one. For what needs no driver. Never loads. */
cushim_function find_in_unused_runtime(const char *name);

/* Resolves and publishes: the slot is changed only if it still points at its own thunk, so that an
 * override is never overwritten. */
int resolve_slot(cushim_library library, cushim_function *slot, cushim_function first,
                 const char *name, int introduced);

} // namespace cushim
