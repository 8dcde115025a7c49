// The last error of every thread.
#pragma once

#include "runtime_headers.hpp"

#include <cstdint>

namespace sim::runtime {

// Notes what a call of this thread answered, unless an error stays that was before it.
void note_error(cudaError_t status) noexcept;
cudaError_t last_error() noexcept;
// Forgets it, unless it stays: an error that leaves the context unusable, until the device is reset.
void clear_last_error() noexcept;
// How many devices were reset, by any thread.
std::uint64_t device_resets() noexcept;
// A device was reset: forgets it in any case, and of other threads what stays.
void forget_last_error() noexcept;
// Whether nothing works any more in a context after this error.
bool stays(cudaError_t status) noexcept;

} // namespace sim::runtime
