/* Errors that the headers make, and failures of Result::value(). */
#ifndef CUSHIM_DETAIL_ERROR_HPP
#define CUSHIM_DETAIL_ERROR_HPP

#include <cushim/error.hpp>

namespace cushim::detail {

// The driver's and the runtime's status call_requires_newer_driver, which older headers lack.
inline constexpr int requires_newer_driver = 36;

// out_of_memory without a status: no host memory for a cushim object.
CUSHIM_API Error no_host_memory() noexcept;

// Writes to stderr which function of a Result was called, and the message of its error, and aborts.
// Null: it is a success.
[[noreturn]] CUSHIM_API void abort_with(const Error *error, const char *function) noexcept;

// Throws cushim::Exception; aborts if cushim itself was built without exceptions.
[[noreturn]] CUSHIM_API void throw_exception(const Error &error);

} // namespace cushim::detail

#endif
