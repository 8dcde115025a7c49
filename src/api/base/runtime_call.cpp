#include "runtime_call.hpp"

#include <cushim/loader.hpp>

namespace cushim::detail {
namespace {

// libcudart does not work with drivers of older major versions.
constexpr Version oldest_driver = Version::of(CUDART_VERSION / 1000, 0);

} // namespace

Error failure(cudaError_t status, const char *entry_point, Version required) noexcept {
    if (status == cudaErrorInsufficientDriver) {
        required = oldest_driver;
    }
    if (status == cudaErrorInsufficientDriver || status == requires_newer_driver) {
        // There may also be no driver, or a new enough driver that lacks something else.
        const Version installed = driver_version();
        if (installed && required > installed) {
            return Error::requires_newer_driver(entry_point, required, installed);
        }
    }
    return Error::status(Api::runtime, status, entry_point);
}

} // namespace cushim::detail
