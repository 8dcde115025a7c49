// Streams: creation, destruction, attributes, waits, callbacks.
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
    callback->function(stream, answer(status), callback->user);
}

} // namespace

cudaError_t cudaStreamCreate(cudaStream_t *pStream) {
    return CU(cuStreamCreate)(pStream, CU_STREAM_DEFAULT);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags) {
    return CU(cuStreamCreate)(pStream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority) {
    return CU(cuStreamCreateWithPriority)(pStream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return CU(cuStreamDestroy_v2)(stream);
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int *priority) {
    return CU(cuStreamGetPriority)(stream_of(hStream), priority);
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags) {
    return CU(cuStreamGetFlags)(stream_of(hStream), flags);
}

#if CUDART_VERSION >= 12000
cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId) {
    return CU(cuStreamGetId)(stream_of(hStream), streamId);
}
#endif

#if CUDART_VERSION >= 12080
cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device) {
    return CU(cuStreamGetDevice)(stream_of(hStream), device);
}
#endif

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) {
    return CU(cuStreamCopyAttributes)(stream_of(dst), stream_of(src));
}

cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
                                   cudaStreamAttrValue *value_out) {
    return CU(cuStreamGetAttribute)(stream_of(hStream), same<CUstreamAttrID>(attr),
                                    same_memory<CUstreamAttrValue>(value_out));
}

cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
                                   const cudaStreamAttrValue *value) {
    return CU(cuStreamSetAttribute)(stream_of(hStream), same<CUstreamAttrID>(attr),
                                    same_memory<const CUstreamAttrValue>(value));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return CU(cuStreamSynchronize)(stream_of(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return CU(cuStreamQuery)(stream_of(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    return CU(cuStreamWaitEvent)(stream_of(stream), event, flags);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
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

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData) {
    return CU(cuLaunchHostFunc)(stream_of(stream), fn, userData);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
                                     unsigned int flags) {
    return CU(cuStreamAttachMemAsync)(stream_of(stream), address(devPtr), length, flags);
}

} // namespace sim::runtime
