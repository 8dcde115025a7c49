#include "call.hpp"

#include <cushim/loader.hpp>

namespace cushim::detail {

Error failure(CUresult status, const char *entry_point, int introduced) noexcept {
    if (status == requires_newer_driver) {
        const Version installed = driver_version();
        const Version required(introduced);
        // A newer driver may return the same status for the arguments.
        if (required > installed) {
            return Error::requires_newer_driver(entry_point, required, installed);
        }
    }
    return Error::status(Api::driver, status, entry_point);
}

} // namespace cushim::detail
