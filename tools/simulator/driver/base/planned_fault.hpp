// What the plans of faults say of one call.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstdint>

namespace sim {

struct PlannedFault {
    CUresult instead = CUDA_SUCCESS, after = CUDA_SUCCESS;
    CUresult async = CUDA_SUCCESS; // of the work that it queues; none once that has taken it
    std::uint64_t async_plan = 0;  // the number of the plan that says so
};

} // namespace sim
