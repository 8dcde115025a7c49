#include <cushim/loader.hpp>

#include <cstring>

#include <cushim/detail/error.hpp>

#include "ranges.hpp"

namespace cushim {

using namespace detail;

namespace {

Result<void> loaded(cushim_library library) noexcept {
    if (cushim_load(library) == CUSHIM_STATE_LOADED) {
        return {};
    }
    return Error::absent(library);
}

unsigned int bit(bool wanted, unsigned int place) {
    return wanted ? place : 0;
}

std::size_t length_of(const char *path) noexcept {
    return path != nullptr ? std::strlen(path) : 0;
}

Error too_long(const Settings &settings) noexcept {
    constexpr std::size_t limit = 3999;
    const std::size_t driver = length_of(settings.driver_path),
                      runtime = length_of(settings.runtime_path);
    const bool is_driver = driver > limit;
    return invalid_argument("Settings::%s has %zu bytes and exceeds the limit of %zu bytes",
                            is_driver ? "driver_path" : "runtime_path",
                            is_driver ? driver : runtime, limit);
}

} // namespace

Result<void> load_driver() noexcept {
    return named("load_driver", loaded(CUSHIM_LIBRARY_DRIVER));
}
Result<void> load_runtime() noexcept {
    return named("load_runtime", loaded(CUSHIM_LIBRARY_RUNTIME));
}
Result<void> load(cushim_library library) noexcept {
    return named("load", loaded(library));
}

Result<void> configure(const Settings &settings) noexcept {
    return named("configure", [&]() -> Result<void> {
        const cushim_settings raw = {
            settings.driver_path, settings.runtime_path,
            bit(settings.environment, CUSHIM_SEARCH_ENVIRONMENT) |
                bit(settings.already_loaded, CUSHIM_SEARCH_ALREADY_LOADED) |
                bit(settings.system_search, CUSHIM_SEARCH_SYSTEM) |
                bit(settings.known_places, CUSHIM_SEARCH_KNOWN_PLACES)};
        switch (cushim_configure(&raw)) {
        case CUSHIM_CONFIGURE_OK:
            return {};
        case CUSHIM_CONFIGURE_TOO_LATE:
            return Error::invalid_argument(
                "the search for the CUDA libraries has already begun; call configure() before the "
                "first CUDA call");
        case CUSHIM_CONFIGURE_NO_MEMORY:
            return no_host_memory();
        case CUSHIM_CONFIGURE_INVALID:
            break;
        }
        return too_long(settings);
    });
}

} // namespace cushim
