// The profiler's switches.
#include "driver_api.hpp"

#if __has_include(<cudaProfiler.h>)

namespace sim::runtime {

cudaError_t cudaProfilerStart() {
    return CU(cuProfilerStart)();
}

cudaError_t cudaProfilerStop() {
    return CU(cuProfilerStop)();
}

} // namespace sim::runtime

#endif
