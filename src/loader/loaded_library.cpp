#include "loaded_library.hpp"

#include "settings.hpp"

namespace cushim {

LoadedLibrary *records[2] = {nullptr, nullptr};

namespace {

/* Whether the reason for which a record is provisional no longer applies. */
bool is_outdated(const LoadedLibrary &record) {
    return record.lacks_driver && is_used(ensure_loaded(CUSHIM_LIBRARY_DRIVER));
}

/* Searches, and publishes the result in place of `before`. Another thread may publish meanwhile: a
 * library that was found replaces an absent one, and a library in use is never replaced. */
const LoadedLibrary *search_and_publish(cushim_library library, LoadedLibrary *before) {
    if (!platform::is_initialized())
        return before;
    freeze_settings();
    // The driver must be loaded first: libcudart binds to the libcuda.so.1 of the process.
    if (library == CUSHIM_LIBRARY_RUNTIME)
        ensure_loaded(CUSHIM_LIBRARY_DRIVER);
    LoadedLibrary *found = search(library);
    if (found == nullptr)
        return before;
    LoadedLibrary *expected = before;
    do {
        found->previous = expected;
        if (atomics::replace(&records[library], expected, found)) {
            // Slots point into the library, and threads keep state here, so both stay loaded.
            platform::pin_own_module();
            return found;
        }
    } while (is_used(found) && !is_used(expected));
    discard(found);
    return expected;
}

cushim_state state_of(const LoadedLibrary *record) {
    return is_used(record) ? CUSHIM_STATE_LOADED : CUSHIM_STATE_ABSENT;
}

} // namespace

const LoadedLibrary *load_now(cushim_library library) {
    LoadedLibrary *record = atomics::load(&records[library]);
    return record != nullptr && !is_outdated(*record) ? record
                                                      : search_and_publish(library, record);
}

} // namespace cushim

using namespace cushim;

extern "C" cushim_state cushim_load(cushim_library library) noexcept {
    return state_of(ensure_loaded(library));
}

extern "C" cushim_state cushim_reload(cushim_library library) noexcept {
    if (library == CUSHIM_LIBRARY_RUNTIME)
        cushim_reload(CUSHIM_LIBRARY_DRIVER);
    LoadedLibrary *record = atomics::load(&records[library]);
    return state_of(is_used(record) ? record : search_and_publish(library, record));
}

extern "C" int cushim_library_version(cushim_library library) noexcept {
    const LoadedLibrary *record = ensure_loaded(library);
    return record != nullptr ? record->report.version : 0;
}

extern "C" int cushim_headers_version(void) noexcept {
    return CUSHIM_CUDA_VERSION;
}

extern "C" const char *cushim_version(void) noexcept {
    return CUSHIM_VERSION;
}
