/* What is known of one of the two libraries after a search, and how it gets published.
 *
 * The state machine, once per library:
 *
 *     not tried  --first call or cushim_load-->  loaded     (for ever)
 *     not tried  --first call or cushim_load-->  absent
 *     absent     --cushim_reload------------->   loaded or absent
 *
 * A record may be provisional: a libcudart that was found while there was no driver is not used.
 * The next use after that has changed searches again. Before the C library is initialised
 * (.preinit_array) nothing is searched for, and nothing is remembered.
 *
 * It has no lock, so that nothing can deadlock: not a library whose constructor calls back into a
 * table, not the child of a fork that happened while another thread was loading. Threads that race
 * for the first use each search, which is harmless since the system counts how often a library is
 * opened; the first to finish publishes its record by compare-exchange, the others drop theirs.
 * Records are never freed once published: reports that were handed out stay valid.
 */
#pragma once

#include <cushim/loader.h>

#include "atomics.hpp"
#include "platform.hpp"

namespace cushim {

struct LoadedLibrary {
    cushim_report report;    // its state is loaded or absent
    platform::Module module; // nullptr if absent
    bool chosen;             // by path: nothing else was tried
    bool lacks_driver;       // a libcudart found without a driver: not used until one is there
    LoadedLibrary *previous; // what a reload replaced
};

/* By library; only loaded_library.cpp writes it. */
extern LoadedLibrary *records[2];

/* The record as it is, nullptr if nothing was tried. */
inline const LoadedLibrary *current_record(cushim_library library) {
    return atomics::load(&records[library]);
}

/* Whether calls reach the library. */
inline bool is_used(const LoadedLibrary *record) {
    return record != nullptr && record->module != nullptr && !record->lacks_driver;
}

/* Searches if that was not done before, or if what was missing then is there now; publishes what
 * was found. */
const LoadedLibrary *load_now(cushim_library library);

/* The record of a library, searching for it if that was not done before. nullptr only when memory
 * ran out, or before the C library is initialised: then the library is absent, and the next call
 * tries again. Inline, as every call into an absent library comes by here. */
inline const LoadedLibrary *ensure_loaded(cushim_library library) {
    const LoadedLibrary *record = current_record(library);
    const bool settled = record != nullptr && !record->lacks_driver;
    return settled ? record : load_now(library);
}

/* Searches (search.cpp); the record is the caller's. nullptr when memory ran out. */
LoadedLibrary *search(cushim_library library);

/* Frees a record that was never published. */
void discard(LoadedLibrary *record);

} // namespace cushim
