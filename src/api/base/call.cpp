#include "call.hpp"

#include <cushim/loader.hpp>

#include "explained.hpp"

namespace cushim::detail {
namespace {

// libcudart does not work with drivers of older major versions.
constexpr Version oldest_driver = Version::of(CUDART_VERSION / 1000, 0);

// CUDA's text is "invalid device context".
Error invalid_context(const Error &error) noexcept {
    CUcontext current = nullptr;
    if (status_of<entry::cuCtxGetCurrent>(&current) != CUDA_SUCCESS) {
        return error;
    }
    if (current == nullptr) {
        return explained(error, "no context is current on the calling thread; make one current "
                                "with Context::enter() or Context::make_current()");
    }
    return explained(error,
                     "the calling thread's current context, 0x%llx, was destroyed, or is not the "
                     "one that the call needs; make that one current with Context::enter()",
                     reinterpret_cast<unsigned long long>(current));
}

} // namespace

Error failure(CUresult status, const char *entry_point, int introduced) noexcept {
    if (status == requires_newer_driver) {
        const Version installed = driver_version();
        const Version required(introduced);
        // A newer driver may return the same status for the arguments.
        if (required > installed) {
            return Error::requires_newer_driver(entry_point, required, installed);
        }
    }
    const Error error = Error::status(Api::driver, status, entry_point);
    return status == CUDA_ERROR_INVALID_CONTEXT ? invalid_context(error) : error;
}

Error failure(cudaError_t status, const char *entry_point, int introduced) noexcept {
    const Version required =
        status == cudaErrorInsufficientDriver ? oldest_driver : Version(introduced);
    if (status == cudaErrorInsufficientDriver || status == requires_newer_driver) {
        // There may also be no driver, or a new enough driver that lacks something else.
        const Version installed = driver_version();
        if (installed && required > installed) {
            return Error::requires_newer_driver(entry_point, required, installed);
        }
    }
    return Error::status(Api::runtime, status, entry_point);
}

Error failure(cushim_library library, int status, const char *entry_point,
              StatusMeaning meaning) noexcept {
    return Error::make({.kind = meaning.kind,
                        .api = Api::library,
                        .status = status,
                        .entry_point = entry_point,
                        .library = library,
                        .status_name = meaning.name});
}

Result<void> needs(Feature feature, Result<void> &&called) noexcept {
    if (called || called.error().status() != requires_newer_driver) [[likely]] {
        return static_cast<Result<void> &&>(called);
    }
    const Version installed = driver_version();
    const Version required = required_version(feature);
    if (installed && required > installed) {
        return Error::requires_newer_driver(called.error().entry_point(), required, installed);
    }
    return static_cast<Result<void> &&>(called);
}

} // namespace cushim::detail
