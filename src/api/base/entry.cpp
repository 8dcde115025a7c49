#include <cushim/entry.hpp>

#include <cushim/detail/error.hpp>
#include <cushim/loader.hpp>

namespace cushim::detail {

Error missing_entry(cushim_library library, const char *name, int introduced, int status) noexcept {
    if (cushim_absent_status(library) != 0) {
        return Error::absent(library);
    }
    if (library == CUSHIM_LIBRARY_DRIVER && status == requires_newer_driver) {
        return Error::requires_newer_driver(name, Version(introduced), driver_version());
    }
    return Error::symbol(library, name);
}

} // namespace cushim::detail
