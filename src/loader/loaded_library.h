/* The result of searching for a library, and its publication.
 *
 * The state machine, once per library:
 *
 *     not tried  --first call or cushim_load-->  loaded     (permanent)
 *     not tried  --first call or cushim_load-->  absent
 *     absent     --cushim_reload------------->   loaded or absent
 *
 * A record may be provisional: a libcudart that was found without a driver is not used. Once a
 * driver is loaded, the next use searches again. Before the C library is initialized
 * (.preinit_array), no search takes place and nothing is recorded.
 *
 * No lock is used, so nothing can deadlock: neither a library whose constructor calls back into a
 * table, nor the child of a fork during which another thread was loading. Threads that race for the
 * first use each search; this is harmless, since the system counts how often a library is opened.
 * The first to finish publishes its record by compare-exchange, and the others discard theirs.
 * Published records are never freed, so reports stay valid.
 */
#pragma once

#include "library.h"

struct CushimLoadedLibrary {
    cushim_report report;    // the state in it is loaded or absent
    Module module;           // NULL if absent
    char *hint;              // the one of the report, if it is on the heap
    bool chosen;             // by path; nothing else was tried
    bool lacks_driver;       // a libcudart without a driver; not used until one is loaded
    LoadedLibrary *previous; // the record that a reload replaced
};

/* The current record; NULL if nothing was tried. Only loaded_library.c replaces it. */
static inline LoadedLibrary *cushim_current_record(const Library *library) {
    return (LoadedLibrary *)CUSHIM_LOAD(void *, &library->record);
}

/* Whether calls are forwarded to the library. */
static inline bool cushim_is_used(const LoadedLibrary *record) {
    return record != NULL && record->module != NULL && !record->lacks_driver;
}

/* Searches unless this was done before, or if a missing prerequisite has become available;
 * publishes the result. */
const LoadedLibrary *cushim_load_now(Library *library);

/* The record of a library; searches unless this was done before. NULL only if memory ran out or
 * the C library is not initialized: the library then counts as absent, and the next call tries
 * again. Inline, since every call of an absent library uses it. */
static inline const LoadedLibrary *cushim_ensure_loaded(Library *library) {
    const LoadedLibrary *record = cushim_current_record(library);
    const bool settled = record != NULL && !record->lacks_driver;
    return settled ? record : cushim_load_now(library);
}

/* Searches (search.c); the caller owns the record. NULL if memory ran out. */
LoadedLibrary *cushim_search(Library *library);

/* Frees an unpublished record. */
void cushim_discard(LoadedLibrary *record);
