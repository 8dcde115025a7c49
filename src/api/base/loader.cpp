#include <cushim/loader.hpp>

namespace cushim {

namespace {

Result<void> load(cushim_library library) noexcept {
    if (cushim_load(library) == CUSHIM_STATE_LOADED)
        return {};
    return Error::absent(library);
}

unsigned int bit(bool wanted, unsigned int place) {
    return wanted ? place : 0;
}

} // namespace

Result<void> load_driver() noexcept {
    return load(CUSHIM_LIBRARY_DRIVER);
}
Result<void> load_runtime() noexcept {
    return load(CUSHIM_LIBRARY_RUNTIME);
}

Result<void> configure(const Settings &settings) noexcept {
    const cushim_settings raw = {settings.driver_path, settings.runtime_path,
                                 bit(settings.environment, CUSHIM_SEARCH_ENVIRONMENT) |
                                     bit(settings.already_loaded, CUSHIM_SEARCH_ALREADY_LOADED) |
                                     bit(settings.system_search, CUSHIM_SEARCH_SYSTEM) |
                                     bit(settings.known_places, CUSHIM_SEARCH_KNOWN_PLACES)};
    switch (cushim_configure(&raw)) {
    case CUSHIM_CONFIGURE_OK:
        return {};
    case CUSHIM_CONFIGURE_TOO_LATE:
        return Error::invalid_argument(
            "configure: too late, the CUDA libraries were already searched for; call it first");
    case CUSHIM_CONFIGURE_NO_MEMORY:
        return Error::make({.kind = ErrorKind::out_of_memory});
    case CUSHIM_CONFIGURE_INVALID:
        break;
    }
    return Error::invalid_argument(
        "configure: a path in the settings exceeds the limit of 4000 bytes");
}

} // namespace cushim
