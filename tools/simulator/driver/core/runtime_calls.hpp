// Calls of the simulated runtime library, which arrive through hooks.hpp.
#pragma once

#include "cuda_headers.hpp"

#include <cstdint>

namespace sim {

// Whether the calling thread is inside one: the driver's calls are then not the client's.
bool in_runtime_call() noexcept;
// That call, the outermost of them, as its client made it; no name outside any.
struct ClientCall {
    const char *name = nullptr;
    std::uint64_t number = 0;
};
ClientCall runtime_call() noexcept;
// What work that this runtime call queues has to fail with; given out once.
CUresult take_runtime_async_fault() noexcept;

} // namespace sim
