// Profiler control: can be started and stopped, without effect.
#include "driver_functions.hpp"
#include "engine/context.hpp"

namespace sim::driver {

EXPORT CUresult cuProfilerStart() {
    current_context();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuProfilerStop() {
    current_context();
    return CUDA_SUCCESS;
}

} // namespace sim::driver
