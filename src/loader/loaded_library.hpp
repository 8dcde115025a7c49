/* What is known of one of the two libraries after a search, and how it gets published.
 *
 * The state machine, once per library:
 *
 *     not tried  --first call or cushim_load-->  loaded     (for ever)
 *     not tried  --first call or cushim_load-->  absent
 *     absent     --cushim_reload------------->   loaded or absent
 *
 * It has no lock, so that nothing can deadlock: not a library whose constructor calls back into a
 * table, not the child of a fork that happened while another thread was loading. Threads that race
 * for the first use each search, which is harmless since the system counts how often a library is
 * opened; the first to finish publishes its record by compare-exchange, the others drop theirs.
 * Records are never freed once published: reports that were handed out stay valid.
 */
#pragma once

#include <cushim/loader.h>

#include "platform.hpp"

namespace cushim {

/* cuGetProcAddress_v2. Its types are spelled out, so that the loader needs no CUDA header: a
 * CUresult and a CUdriverProcAddressQueryResult are ints. */
#if defined(_WIN32)
using GetProcAddress = int(__stdcall *)(const char *, void **, int, unsigned long long, int *);
#else
using GetProcAddress = int (*)(const char *, void **, int, unsigned long long, int *);
#endif

struct LoadedLibrary {
    cushim_report report;            // its state is loaded or absent
    platform::Module module;         // nullptr if absent
    GetProcAddress get_proc_address; // nullptr where the library has none
    LoadedLibrary *previous;         // what a reload replaced
};

/* The record of a library, searching for it if that was not done before. Never nullptr... unless
 * memory ran out, and then the library is absent without a record. */
const LoadedLibrary *ensure_loaded(cushim_library library);

/* The record as it is, nullptr if nothing was tried. */
const LoadedLibrary *current_record(cushim_library library);

/* Searches (search.cpp); the record is the caller's. nullptr when memory ran out. */
LoadedLibrary *search(cushim_library library);

/* Frees a record that was never published. */
void discard(LoadedLibrary *record);

} // namespace cushim
