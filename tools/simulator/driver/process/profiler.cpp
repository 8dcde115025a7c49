// Profiler control: can be started and stopped, without effect.
#include "driver_functions.hpp"
#include "engine/context.hpp"

namespace sim::driver {

CUresult cuProfilerStart() {
    current_context();
    return CUDA_SUCCESS;
}

CUresult cuProfilerStop() {
    current_context();
    return CUDA_SUCCESS;
}

} // namespace sim::driver
