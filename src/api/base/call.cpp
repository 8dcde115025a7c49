#include "call.hpp"

#include <cushim/loader.hpp>

#include "ranges.hpp"

namespace cushim::detail {
namespace {

// CUDA's text is "invalid device context".
Error invalid_context(const Error &error) noexcept {
    CUcontext current = nullptr;
    if (driver().cuCtxGetCurrent(&current) != CUDA_SUCCESS) {
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

Error failure(CUresult status, const char *entry_point, int introduced, const char *in) noexcept {
    if (status == requires_newer_driver) {
        const Version installed = driver_version();
        const Version required(introduced);
        // A newer driver may return the same status for the arguments.
        if (required > installed) {
            return named(Error::requires_newer_driver(entry_point, required, installed), in);
        }
    }
    const Error error = Error::status(Api::driver, status, entry_point);
    return named(status == CUDA_ERROR_INVALID_CONTEXT ? invalid_context(error) : error, in);
}

Result<void> failed(CUresult status, const char *entry_point, int introduced,
                    const char *in) noexcept {
    return failure(status, entry_point, introduced, in);
}

} // namespace cushim::detail
