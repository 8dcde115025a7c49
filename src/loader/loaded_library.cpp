#include "loaded_library.hpp"

#include "settings.hpp"

namespace cushim {

namespace {

/* Whether the reason for which a record is provisional no longer applies. */
bool is_outdated(const LoadedLibrary &record) {
    return record.lacks_driver && is_used(ensure_loaded(driver_library));
}

bool needs_driver(const Library &library) {
    return library.special != nullptr && library.special->needs_driver;
}

/* Searches, and publishes the result in place of `before`. Another thread may publish meanwhile: a
 * library that was found replaces an absent one, and a library in use is never replaced. */
const LoadedLibrary *search_and_publish(Library &library, LoadedLibrary *before) {
    if (!platform::is_initialized()) {
        return before;
    }
    freeze_settings(library);
    // The driver must be loaded first: libcudart binds to the libcuda.so.1 of the process.
    if (needs_driver(library)) {
        ensure_loaded(driver_library);
    }
    LoadedLibrary *found = search(library);
    if (found == nullptr) {
        return before;
    }
    void *expected = before;
    do {
        found->previous = static_cast<LoadedLibrary *>(expected);
        if (atomics::replace(&library.record, expected, static_cast<void *>(found))) {
            // Slots point into the library, and threads keep state here, so both stay loaded.
            platform::pin_own_module();
            return found;
        }
    } while (is_used(found) && !is_used(static_cast<LoadedLibrary *>(expected)));
    discard(found);
    return static_cast<LoadedLibrary *>(expected);
}

cushim_state state_of(const LoadedLibrary *record) {
    return is_used(record) ? CUSHIM_STATE_LOADED : CUSHIM_STATE_ABSENT;
}

cushim_state reload(Library &library) {
    if (needs_driver(library)) {
        reload(driver_library);
    }
    LoadedLibrary *record = current_record(library);
    return state_of(is_used(record) ? record : search_and_publish(library, record));
}

} // namespace

const LoadedLibrary *load_now(Library &library) {
    LoadedLibrary *record = current_record(library);
    return record != nullptr && !is_outdated(*record) ? record
                                                      : search_and_publish(library, record);
}

} // namespace cushim

using namespace cushim;

extern "C" cushim_state cushim_load(cushim_library number) noexcept {
    Library *library = library_numbered(number);
    return library != nullptr ? state_of(ensure_loaded(*library)) : CUSHIM_STATE_ABSENT;
}

extern "C" cushim_state cushim_reload(cushim_library number) noexcept {
    Library *library = library_numbered(number);
    return library != nullptr ? reload(*library) : CUSHIM_STATE_ABSENT;
}

extern "C" int cushim_library_version(cushim_library number) noexcept {
    Library *library = library_numbered(number);
    const LoadedLibrary *record = library != nullptr ? ensure_loaded(*library) : nullptr;
    return record != nullptr ? record->report.version : 0;
}

extern "C" int cushim_headers_version(void) noexcept {
    return CUSHIM_CUDA_VERSION;
}

extern "C" const char *cushim_version(void) noexcept {
    return CUSHIM_VERSION;
}
