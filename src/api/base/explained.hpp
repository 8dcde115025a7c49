// What was passed to a CUDA call that failed, where CUDA gives only a status.
#pragma once

#include <cushim/result.hpp>

#ifdef __MINGW32__
#define CUSHIM_PRINTF_STYLE gnu_printf
#else
#define CUSHIM_PRINTF_STYLE printf
#endif
#define CUSHIM_PRINTF(text, first) [[gnu::format(CUSHIM_PRINTF_STYLE, text, first)]]

namespace cushim::detail {

// The error of a failed CUDA call, with a printf-style sentence about the call's arguments in place
// of CUDA's text. An error that has a better text (the driver is absent or too old) is unchanged.
CUSHIM_PRINTF(2, 3) Error explained(const Error &error, const char *format, ...) noexcept;

// The same for an error of this library, whose text the sentence replaces in every case.
CUSHIM_PRINTF(2, 3) Error reworded(const Error &error, const char *format, ...) noexcept;

// The same for a call that may have failed: for an error with this status.
CUSHIM_PRINTF(3, 4)
Result<void> explained(Result<void> &&called, int status, const char *format, ...) noexcept;

} // namespace cushim::detail
