// CUDA's "invalid handle" for an object of another context. Checked only after a failure.
#pragma once

#include <cushim/stream.hpp>

#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/ranges.hpp"

namespace cushim::detail {

// The error as wrong_context, with the contexts in a printf-style sentence.
CUSHIM_PRINTF(2, 3) Error wrong_context(const Error &error, const char *format, ...) noexcept;
// The same without a call.
CUSHIM_PRINTF(1, 2) Error wrong_context(const char *format, ...) noexcept;

// A context in a message: "0x55d3c0a1b2c0 (device 0)". Device -1: unknown, or known from before.
Text context_text(CUcontext context, int device = -1) noexcept;

// The error of a call on a stream; wrong_context if the stream belongs to another context than
// `object` of this text, which belongs to `of` on this device. A null context: unknown.
Error failure_of_stream(const Error &error, const Stream &stream, const char *object, CUcontext of,
                        int device) noexcept;

} // namespace cushim::detail
