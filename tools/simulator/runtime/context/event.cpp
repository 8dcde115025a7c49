// Events.
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return CU(cuEventCreate)(event, CU_EVENT_DEFAULT);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    return CU(cuEventCreate)(event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return CU(cuEventDestroy_v2)(event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return CU(cuEventRecord)(event, stream_of(stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    return CU(cuEventRecordWithFlags)(event, stream_of(stream), flags);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return CU(cuEventQuery)(event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return CU(cuEventSynchronize)(event);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    require(ms != nullptr); // the driver checks the events first
#if CUDART_VERSION >= 13000
    return CU(cuEventElapsedTime_v2)(ms, start, end);
#else
    return CU(cuEventElapsedTime)(ms, start, end);
#endif
}

#if CUDART_VERSION >= 12080 && CUDART_VERSION < 13000
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end) {
    require(ms != nullptr);
    return CU(cuEventElapsedTime_v2)(ms, start, end);
}
#endif

} // namespace sim::runtime
