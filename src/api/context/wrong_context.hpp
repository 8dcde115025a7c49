// CUDA's "invalid handle" for an object of another context. Checked only after a failure.
#pragma once

#include <cushim/stream.hpp>

#include "base/call.hpp"

namespace cushim::detail {

struct FailedCall {
    CUresult status = CUDA_SUCCESS;
    const char *entry_point = "";
    int introduced = 0;
};

inline Error wrong_context(const FailedCall &call, const char *why) noexcept {
    return Error::make({.kind = ErrorKind::wrong_context,
                        .api = Api::driver,
                        .status = call.status,
                        .entry_point = call.entry_point,
                        .detail = why});
}

// wrong_context with the text `why`, unless are_of(context) confirms that all objects belong to it.
template <class AreOf>
Error failure_in(const Stream &stream, const FailedCall &call, const char *why,
                 AreOf are_of) noexcept {
    CUcontext context = nullptr;
    if (call.status == CUDA_ERROR_INVALID_HANDLE &&
        driver().cuStreamGetCtx_v1(stream.native(), &context) == CUDA_SUCCESS && !are_of(context)) {
        return wrong_context(call, why);
    }
    return failure(call.status, call.entry_point, call.introduced);
}

} // namespace cushim::detail

// The call that returned `status_`.
#define CUSHIM_FAILED_CALL(function, status_)                                                      \
    ::cushim::detail::FailedCall {                                                                 \
        status_, ::cushim::entry::function::name, ::cushim::entry::function::introduced            \
    }
