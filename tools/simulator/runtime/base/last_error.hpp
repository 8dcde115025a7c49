// The last error of each thread.
#pragma once

#include "runtime/base/runtime_headers.hpp"

namespace sim::runtime {

// Stores the status of a call. Recorded: each error replaces the previous one, whatever it was; a
// device reset keeps it.
void note_error(cudaError_t status) noexcept;
cudaError_t last_error() noexcept;
void clear_last_error() noexcept;

} // namespace sim::runtime
