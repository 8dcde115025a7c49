// Stream capture.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return CU(cuStreamBeginCapture_v2)(stream_of(stream), same<CUstreamCaptureMode>(mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph) {
    return CU(cuStreamEndCapture)(stream_of(stream), pGraph);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *pCaptureStatus) {
    return CU(cuStreamIsCapturing)(stream_of(stream),
                                   same_memory<CUstreamCaptureStatus>(pCaptureStatus));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode) {
    return CU(cuThreadExchangeStreamCaptureMode)(same_memory<CUstreamCaptureMode>(mode));
}

#if CUDART_VERSION >= 12030
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t *dependencies,
                                          const cudaGraphEdgeData *dependencyData,
                                          size_t numDependencies, cudaStreamCaptureMode mode) {
    return CU(cuStreamBeginCaptureToGraph)(stream_of(stream), graph, dependencies,
                                           same_memory<const CUgraphEdgeData>(dependencyData),
                                           numDependencies, same<CUstreamCaptureMode>(mode));
}
#endif

#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     cudaStreamCaptureStatus *captureStatus_out,
                                     unsigned long long *id_out, cudaGraph_t *graph_out,
                                     const cudaGraphNode_t **dependencies_out,
                                     const cudaGraphEdgeData **edgeData_out,
                                     size_t *numDependencies_out) {
    return CU(cuStreamGetCaptureInfo_v3)(
        stream_of(stream), same_memory<CUstreamCaptureStatus>(captureStatus_out),
        same_memory<cuuint64_t>(id_out), graph_out, dependencies_out,
        reinterpret_cast<const CUgraphEdgeData **>(edgeData_out), numDependencies_out);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                const cudaGraphEdgeData *dependencyData,
                                                size_t numDependencies, unsigned int flags) {
    return CU(cuStreamUpdateCaptureDependencies_v2)(
        stream_of(stream), dependencies, same_memory<const CUgraphEdgeData>(dependencyData),
        numDependencies, flags);
}
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     cudaStreamCaptureStatus *captureStatus_out,
                                     unsigned long long *id_out) {
    return CU(cuStreamGetCaptureInfo)(stream_of(stream),
                                      same_memory<CUstreamCaptureStatus>(captureStatus_out),
                                      same_memory<cuuint64_t>(id_out));
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
                                        cudaStreamCaptureStatus *captureStatus_out,
                                        unsigned long long *id_out, cudaGraph_t *graph_out,
                                        const cudaGraphNode_t **dependencies_out,
                                        size_t *numDependencies_out) {
    return CU(cuStreamGetCaptureInfo_v2)(
        stream_of(stream), same_memory<CUstreamCaptureStatus>(captureStatus_out),
        same_memory<cuuint64_t>(id_out), graph_out, dependencies_out, numDependencies_out);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                size_t numDependencies, unsigned int flags) {
    return CU(cuStreamUpdateCaptureDependencies)(stream_of(stream), dependencies, numDependencies,
                                                 flags);
}
#if CUDART_VERSION >= 12030
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream,
                                        cudaStreamCaptureStatus *captureStatus_out,
                                        unsigned long long *id_out, cudaGraph_t *graph_out,
                                        const cudaGraphNode_t **dependencies_out,
                                        const cudaGraphEdgeData **edgeData_out,
                                        size_t *numDependencies_out) {
    return CU(cuStreamGetCaptureInfo_v3)(
        stream_of(stream), same_memory<CUstreamCaptureStatus>(captureStatus_out),
        same_memory<cuuint64_t>(id_out), graph_out, dependencies_out,
        reinterpret_cast<const CUgraphEdgeData **>(edgeData_out), numDependencies_out);
}

cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream,
                                                   cudaGraphNode_t *dependencies,
                                                   const cudaGraphEdgeData *dependencyData,
                                                   size_t numDependencies, unsigned int flags) {
    return CU(cuStreamUpdateCaptureDependencies_v2)(
        stream_of(stream), dependencies, same_memory<const CUgraphEdgeData>(dependencyData),
        numDependencies, flags);
}
#endif
#endif

} // namespace sim::runtime
