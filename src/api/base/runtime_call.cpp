#include "runtime_call.hpp"

#include <cushim/loader.hpp>

namespace cushim::detail {
namespace {

// libcudart does not work with drivers of older major versions.
constexpr Version oldest_driver = Version::of(CUDART_VERSION / 1000, 0);

} // namespace

Error failure(cudaError_t status, const char *entry_point, Version required,
              const char *in) noexcept {
    if (status == cudaErrorInsufficientDriver) {
        required = oldest_driver;
    }
    if (status == cudaErrorInsufficientDriver || status == requires_newer_driver) {
        // There may also be no driver, or a new enough driver that lacks something else.
        const Version installed = driver_version();
        if (installed && required > installed) {
            return named(Error::requires_newer_driver(entry_point, required, installed), in);
        }
    }
    return named(Error::status(Api::runtime, status, entry_point), in);
}

} // namespace cushim::detail
