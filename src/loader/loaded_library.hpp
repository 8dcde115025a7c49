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

#include "library.hpp"

namespace cushim {

struct LoadedLibrary {
    cushim_report report;    // the state in it is loaded or absent
    platform::Module module; // nullptr if absent
    char *hint;              // the one of the report, if it is on the heap
    bool chosen;             // by path; nothing else was tried
    bool lacks_driver;       // a libcudart without a driver; not used until one is loaded
    LoadedLibrary *previous; // the record that a reload replaced
};

/* The current record; nullptr if nothing was tried. Only loaded_library.cpp replaces it. */
inline LoadedLibrary *current_record(const Library &library) {
    return static_cast<LoadedLibrary *>(atomics::load(&library.record));
}

/* Whether calls are forwarded to the library. */
inline bool is_used(const LoadedLibrary *record) {
    return record != nullptr && record->module != nullptr && !record->lacks_driver;
}

/* Searches unless this was done before, or if a missing prerequisite has become available;
 * publishes the result. */
const LoadedLibrary *load_now(Library &library);

/* The record of a library; searches unless this was done before. nullptr only if memory ran out or
 * the C library is not initialized: the library then counts as absent, and the next call tries
 * again. Inline, since every call of an absent library uses it. */
inline const LoadedLibrary *ensure_loaded(Library &library) {
    const LoadedLibrary *record = current_record(library);
    const bool settled = record != nullptr && !record->lacks_driver;
    return settled ? record : load_now(library);
}

/* Searches (search.cpp); the caller owns the record. nullptr if memory ran out. */
LoadedLibrary *search(Library &library);

/* Frees an unpublished record. */
void discard(LoadedLibrary *record);

} // namespace cushim
