// The planned faults that apply to one call.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstdint>

namespace sim {

struct PlannedFault {
    CUresult instead = CUDA_SUCCESS, after = CUDA_SUCCESS;
    CUresult async = CUDA_SUCCESS; // of the work that it enqueues; cleared once work has taken it
    std::uint64_t async_plan = 0;  // number of the plan that set `async`
};

} // namespace sim
