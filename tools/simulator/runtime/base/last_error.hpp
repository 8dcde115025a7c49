// The last error of every thread.
#pragma once

#include "runtime/base/runtime_headers.hpp"

namespace sim::runtime {

// Notes what a call of this thread answered. As recorded, each error takes the place of the one
// before it, whatever that was; a reset of the device leaves it.
void note_error(cudaError_t status) noexcept;
cudaError_t last_error() noexcept;
void clear_last_error() noexcept;

} // namespace sim::runtime
