#include "loaded_library.h"

#include "settings.h"

/* Whether the reason for which a record is provisional no longer applies. */
static bool is_outdated(const LoadedLibrary *record) {
    return record->lacks_driver && cushim_is_used(cushim_ensure_loaded(&cushim_driver_library));
}

static bool needs_driver(const Library *library) {
    return library->special != NULL && library->special->needs_driver;
}

/* Searches, and publishes the result in place of `before`. Another thread may publish meanwhile: a
 * library that was found replaces an absent one, and a library in use is never replaced. */
static const LoadedLibrary *search_and_publish(Library *library, LoadedLibrary *before) {
    if (!cushim_platform_is_initialized()) {
        return before;
    }
    cushim_freeze_settings(library);
    // The driver must be loaded first: libcudart binds to the libcuda.so.1 of the process.
    if (needs_driver(library)) {
        cushim_ensure_loaded(&cushim_driver_library);
    }
    LoadedLibrary *found = cushim_search(library);
    if (found == NULL) {
        return before;
    }
    void *expected = before;
    do {
        found->previous = (LoadedLibrary *)expected;
        if (CUSHIM_REPLACE(&library->record, &expected, found)) {
            // Slots point into the library, and threads keep state here, so both stay loaded.
            cushim_platform_pin_own_module();
            return found;
        }
    } while (cushim_is_used(found) && !cushim_is_used((LoadedLibrary *)expected));
    cushim_discard(found);
    return (LoadedLibrary *)expected;
}

static cushim_state state_of(const LoadedLibrary *record) {
    return cushim_is_used(record) ? CUSHIM_STATE_LOADED : CUSHIM_STATE_ABSENT;
}

static cushim_state reload(Library *library) {
    if (needs_driver(library)) {
        reload(&cushim_driver_library);
    }
    LoadedLibrary *record = cushim_current_record(library);
    return state_of(cushim_is_used(record) ? record : search_and_publish(library, record));
}

const LoadedLibrary *cushim_load_now(Library *library) {
    LoadedLibrary *record = cushim_current_record(library);
    return record != NULL && !is_outdated(record) ? record : search_and_publish(library, record);
}

cushim_state cushim_load(cushim_library number) CUSHIM_NOEXCEPT {
    Library *library = cushim_library_numbered(number);
    return library != NULL ? state_of(cushim_ensure_loaded(library)) : CUSHIM_STATE_ABSENT;
}

cushim_state cushim_reload(cushim_library number) CUSHIM_NOEXCEPT {
    Library *library = cushim_library_numbered(number);
    return library != NULL ? reload(library) : CUSHIM_STATE_ABSENT;
}

int cushim_library_version(cushim_library number) CUSHIM_NOEXCEPT {
    Library *library = cushim_library_numbered(number);
    const LoadedLibrary *record = library != NULL ? cushim_ensure_loaded(library) : NULL;
    return record != NULL ? record->report.version : 0;
}

int cushim_headers_version(void) CUSHIM_NOEXCEPT {
    return CUSHIM_CUDA_VERSION;
}

const char *cushim_version(void) CUSHIM_NOEXCEPT {
    return CUSHIM_VERSION;
}
