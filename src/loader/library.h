/* A library that the loader loads: the driver, the runtime, or a further one. All are found,
 * checked, reported and called by their descriptions (cushim/detail/library.h); driver.c and
 * runtime.c contain what only these two need.
 *
 * The libraries of a process are a list, to which a library is appended at its first use; its
 * position is its public number. Nothing is removed.
 *
 * The state of each library is the record of its last search:
 *
 *     not tried  --first call or cushim_load-->  loaded     (permanent)
 *     not tried  --first call or cushim_load-->  absent
 *     absent     --cushim_reload------------->   loaded or absent
 *
 * A record may be provisional: a libcudart that was found without a driver is not used. Once a
 * driver is loaded, the next use searches again. Before the C library is initialized
 * (.preinit_array), no search takes place and nothing is recorded.
 *
 * The loader has no lock, so a library whose constructor calls back into a table does not deadlock.
 * Threads that race for the first use each search; this is harmless, since the system counts how
 * often a library is opened. The first to finish publishes its record by compare-exchange, and the
 * others discard theirs. Published records are never freed, so reports stay valid.
 *
 * In the child of a fork, only the dynamic linker's own locks matter. glibc resets the one of
 * dlopen, but not the one of dl_iterate_phdr, which the loader therefore does not call.
 */
#pragma once

#include <cushim/detail/library.h>

#include "platform/atomics.h"
#include "platform/platform.h"

typedef cushim_loadable Library;
typedef struct CushimSearchRecord SearchRecord;

extern Library cushim_driver_library;  // driver.c
extern Library cushim_runtime_library; // runtime.c

/* What a library is to the loader. A further library is only its description. */
typedef enum { KIND_DRIVER, KIND_RUNTIME, KIND_FURTHER } Kind;

static inline Kind cushim_kind_of(const Library *library) {
    if (library == &cushim_driver_library) {
        return KIND_DRIVER;
    }
    return library == &cushim_runtime_library ? KIND_RUNTIME : KIND_FURTHER;
}

/* The preferred file name; empty if the description has none for this system. */
static inline const char *cushim_file_name_of(const Library *library) {
    const char *name = library->description->file_names[0];
    return name != NULL ? name : "";
}

/* The library with this number; NULL if the process has none. */
Library *cushim_library_numbered(cushim_library number);

/* The library in the list that is the same as this one. Appends this one if the list lacks it. */
Library *cushim_listed(Library *library);

struct CushimSearchRecord {
    cushim_report report;   // the state in it is loaded or absent; all texts are on the heap
    Module module;          // NULL if absent
    bool chosen;            // by path; nothing else was tried
    bool lacks_driver;      // a libcudart without a driver; not used until one is loaded
    SearchRecord *previous; // the record that a reload replaced
};

/* The current record; NULL if nothing was tried. Only library.c replaces it. */
static inline SearchRecord *cushim_current_record(const Library *library) {
    return CUSHIM_LOAD(&library->record);
}

/* Whether calls are forwarded to the library. */
static inline bool cushim_is_usable(const SearchRecord *record) {
    return record != NULL && record->module != NULL && !record->lacks_driver;
}

/* Searches unless this was done before, or if a missing prerequisite has become available;
 * publishes the result. */
const SearchRecord *cushim_load_now(Library *library);

/* The record of a library; searches unless this was done before. NULL only if memory ran out or
 * the C library is not initialized: the library then counts as absent, and the next call tries
 * again. Inline, since every call of an absent library uses it. */
static inline const SearchRecord *cushim_ensure_loaded(Library *library) {
    const SearchRecord *record = cushim_current_record(library);
    const bool settled = record != NULL && !record->lacks_driver;
    return settled ? record : cushim_load_now(library);
}
