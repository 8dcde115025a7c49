// Streams and events.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

#include <memory>

namespace sim::runtime {
namespace {

// A runtime callback, wrapped as a driver callback.
struct Callback {
    cudaStreamCallback_t function;
    void *user;
};

void CUDA_CB call_back(CUstream stream, CUresult status, void *data) {
    const std::unique_ptr<Callback> callback(static_cast<Callback *>(data));
    callback->function(stream, runtime_status(status), callback->user);
}

} // namespace

EXPORT cudaError_t cudaStreamCreate(OUT cudaStream_t *pStream) {
    return CU(cuStreamCreate)(pStream, CU_STREAM_DEFAULT);
}

EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                         void *userData, unsigned int flags) {
    require(callback != nullptr, "callback cannot be NULL");
    require(flags == 0);
    auto data = std::make_unique<Callback>(Callback{callback, userData});
    const cudaError_t status =
        CU(cuStreamAddCallback)(stream_of(stream), &call_back, data.get(), flags);
    if (status == cudaSuccess) {
        (void)data.release(); // call_back() deletes it, maybe before this line
    }
    return status;
}

EXPORT cudaError_t cudaEventCreate(OUT cudaEvent_t *event) {
    return CU(cuEventCreate)(event, CU_EVENT_DEFAULT);
}

EXPORT cudaError_t cudaEventElapsedTime(OUT float *ms, cudaEvent_t start, cudaEvent_t end) {
    require(ms != nullptr); // the driver checks the events first
#if CUDART_VERSION >= 13000
    return CU(cuEventElapsedTime_v2)(ms, start, end);
#else
    return CU(cuEventElapsedTime)(ms, start, end);
#endif
}

#if CUDART_VERSION >= 12080 && CUDART_VERSION < 13000
EXPORT cudaError_t cudaEventElapsedTime_v2(OUT float *ms, cudaEvent_t start, cudaEvent_t end) {
    require(ms != nullptr);
    return CU(cuEventElapsedTime_v2)(ms, start, end);
}
#endif

} // namespace sim::runtime
