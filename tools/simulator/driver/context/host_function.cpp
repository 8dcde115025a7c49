// Client functions that streams call: host functions, and stream callbacks, which also receive
// errors.
#include "engine/host_function.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/stream.hpp"

#include <utility>

namespace sim::driver {

EXPORT CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData) {
    Stream &stream = stream_of(hStream);
    submit(stream, host_work(fn, userData, "cuLaunchHostFunc"));
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13020
EXPORT CUresult cuLaunchHostFunc_v2(CUstream hStream, CUhostFn fn, void *userData,
                                    unsigned int syncMode) {
    require(syncMode <= CU_HOST_TASK_SPINWAIT);
    Stream &stream = stream_of(hStream);
    submit(stream, host_work(fn, userData, "cuLaunchHostFunc_v2"));
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                    unsigned int flags) {
    require(callback != nullptr && flags == 0);
    Stream &stream = stream_of(hStream);
    refuse_capturing(stream);
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_HOST;
    work.what = "cuStreamAddCallback";
    work.otherwise = [=](Stream &, CUresult status) {
        const HostFunctionScope scope;
        callback(hStream, status, userData);
    };
    work.run = [otherwise = work.otherwise](Stream &s) { otherwise(s, CUDA_SUCCESS); };
    submit(stream, std::move(work));
    return CUDA_SUCCESS;
}

} // namespace sim::driver
