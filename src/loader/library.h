/* A library that the loader loads: the driver, the runtime, and any number of further ones. All are
 * found, checked, reported and called by their descriptions (cushim/detail/library.h); the driver
 * and the runtime also have functions for what a description cannot say.
 *
 * The libraries of a process are a list, to which a library is appended at its first use; its
 * position is its public number. Nothing is removed, and no lock is used.
 */
#pragma once

#include <cushim/detail/library.h>

#include "platform/atomics.h"
#include "platform/platform.h"

typedef cushim_loadable Library;
typedef struct CushimLoadedLibrary LoadedLibrary;

extern Library cushim_driver_library;  // driver.c
extern Library cushim_runtime_library; // runtime.c

/* The preferred file name; empty if the description has none for this system. */
static inline const char *cushim_file_name_of(const Library *library) {
    const char *name = library->description->file_names[0];
    return name != NULL ? name : "";
}

/* The library with this number; NULL if the process has none. */
Library *cushim_library_numbered(cushim_library number);

/* The library in the list that is the same as this one. Appends this one if the list lacks it. */
Library *cushim_listed(Library *library);

/* What the driver and the runtime do besides their descriptions. Further libraries have none. */
typedef struct cushim_special cushim_special;
struct cushim_special {
    const char *noun;  // in sentences that have named the library before: "the driver"
    bool needs_driver; // it is searched for after the driver, and not used without one

    /* Whether an opened library is the described one. version_status: 0, the status that its
     * version function returned, or -1 if it lacks that function. */
    cushim_outcome (*judge)(Module module, int version_status, Text *detail);

    /* The function with this exported name; NULL if the library lacks it. */
    cushim_function (*find)(const LoadedLibrary *loaded, const char *name, int introduced);

    /* The status of all functions if the library is absent. */
    int (*absent_status)(const LoadedLibrary *record);

    /* What a person can do, if it is not what can be done for every library; NULL otherwise. */
    const char *(*hint)(cushim_reason reason, bool chosen);
};
