#include "loaded_library.hpp"

#include "settings.hpp"

namespace cushim {

LoadedLibrary *records[2] = {nullptr, nullptr};

namespace {

/* Searches, and publishes what was found in place of `before`. */
const LoadedLibrary *search_and_publish(cushim_library library, LoadedLibrary *before) {
    freeze_settings();
    // Always in this order: a libcudart binds to whatever libcuda.so.1 is loaded.
    if (library == CUSHIM_LIBRARY_RUNTIME)
        ensure_loaded(CUSHIM_LIBRARY_DRIVER);
    LoadedLibrary *found = search(library);
    if (found == nullptr)
        return before;
    found->previous = before;
    LoadedLibrary *expected = before;
    if (atomics::replace(&records[library], expected, found)) {
        // Slots point into the library, and threads keep state here: both are for ever.
        platform::pin_own_module();
        return found;
    }
    discard(found);
    return expected;
}

} // namespace

const LoadedLibrary *load_now(cushim_library library) {
    return search_and_publish(library, nullptr);
}

} // namespace cushim

using namespace cushim;

extern "C" cushim_state cushim_load(cushim_library library) noexcept {
    const LoadedLibrary *record = ensure_loaded(library);
    return record != nullptr ? record->report.state : CUSHIM_STATE_ABSENT;
}

extern "C" cushim_state cushim_reload(cushim_library library) noexcept {
    if (library == CUSHIM_LIBRARY_RUNTIME)
        cushim_reload(CUSHIM_LIBRARY_DRIVER);
    LoadedLibrary *record = atomics::load(&records[library]);
    if (record != nullptr && record->report.state == CUSHIM_STATE_LOADED)
        return CUSHIM_STATE_LOADED;
    const LoadedLibrary *found = search_and_publish(library, record);
    return found != nullptr ? found->report.state : CUSHIM_STATE_ABSENT;
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
