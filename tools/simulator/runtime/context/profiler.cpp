// Profiler control.
#include "runtime/base/driver_api.hpp"

// Declared here, since the header that declares them is missing from some header packages.
extern "C" {
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);
}

namespace sim::runtime {

cudaError_t cudaProfilerStart() {
    return CU(cuProfilerStart)();
}

// Recorded: does nothing in a child of fork.
cudaError_t cudaProfilerStop() {
    return in_forked_child() ? cudaSuccess : CU(cuProfilerStop)();
}

} // namespace sim::runtime
