// The profiler's switches.
#include "driver_api.hpp"

#if __has_include(<cudaProfiler.h>)

namespace sim::runtime {

cudaError_t cudaProfilerStart() {
    return CU(cuProfilerStart)();
}

// As recorded: in a child of fork there is nothing to stop.
cudaError_t cudaProfilerStop() {
    return in_forked_child() ? cudaSuccess : CU(cuProfilerStop)();
}

} // namespace sim::runtime

#endif
