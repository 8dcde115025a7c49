// CUDA's "invalid handle" for an object of another context. Checked only after a failure.
#pragma once

#include <cushim/stream.hpp>

#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/ranges.hpp"

namespace cushim::detail {

struct FailedCall {
    CUresult status = CUDA_SUCCESS;
    const char *entry_point = "";
    int introduced = 0;
};

// The contexts in a printf-style sentence. An empty call: it was not made.
CUSHIM_PRINTF(2, 3) Error wrong_context(const FailedCall &call, const char *format, ...) noexcept;

// A context in a message: "0x55d3c0a1b2c0 (device 0)". Device -1: unknown, or known from before.
Text context_text(CUcontext context, int device = -1) noexcept;

// The error of a call on a stream; wrong_context if the stream belongs to another context than
// `object` of this text, which belongs to `of` on this device. A null context: unknown.
Error failure_of_stream(const Stream &stream, const FailedCall &call, const char *object,
                        CUcontext of, int device) noexcept;

} // namespace cushim::detail

// The call that returned `status_`.
#define CUSHIM_FAILED_CALL(function, status_)                                                      \
    ::cushim::detail::FailedCall {                                                                 \
        status_, ::cushim::entry::function::name, ::cushim::entry::function::introduced            \
    }
