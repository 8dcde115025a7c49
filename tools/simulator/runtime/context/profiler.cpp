// The profiler's switches.
#include "runtime/base/driver_api.hpp"

// Only their types are needed; not every package of headers has the one that declares them.
extern "C" {
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);
}

namespace sim::runtime {

cudaError_t cudaProfilerStart() {
    return CU(cuProfilerStart)();
}

// As recorded: in a child of fork there is nothing to stop.
cudaError_t cudaProfilerStop() {
    return in_forked_child() ? cudaSuccess : CU(cuProfilerStop)();
}

} // namespace sim::runtime
