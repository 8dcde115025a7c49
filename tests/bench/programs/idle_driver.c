/* A driver, and a runtime, whose calls succeed and do nothing, for wrappers.cpp. Here are the entry
 * points with a result; wrappers.py adds all others, which return 0.
 *
 * With COUNT_CALLS it counts the calls, in a variable that the program finds by name. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned long idle_driver_calls = 0;
#ifdef COUNT_CALLS
#define CALLED ++idle_driver_calls
#else
#define CALLED (void)0
#endif

/* Handles and addresses, multiples of 2 MiB that no two objects share. */
#define GRANULARITY 0x200000ULL
static unsigned long long last_handle = 1ULL << 40;
static void *next_handle(void) {
    return (void *)(last_handle += GRANULARITY);
}

static CUcontext current = NULL;

#define SUCCEED(...)                                                                               \
    {                                                                                              \
        CALLED;                                                                                    \
        __VA_ARGS__;                                                                               \
        return CUDA_SUCCESS;                                                                       \
    }
/* An entry point that creates an object. */
#define CREATE(name, type, ...)                                                                    \
    EXPORT CUresult name(type *created, ##__VA_ARGS__) SUCCEED(*created = (type)next_handle())

EXPORT CUresult cuDriverGetVersion(int *version) SUCCEED(*version = CUDA_VERSION) EXPORT CUresult
    cuDeviceGetCount(int *count) SUCCEED(*count = 1) EXPORT CUresult
    cuDeviceGet(CUdevice *device, int ordinal) SUCCEED(*device = ordinal) EXPORT CUresult
    cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
        SUCCEED(*value = 1)
            CREATE(cuDevicePrimaryCtxRetain, CUcontext, CUdevice device) EXPORT CUresult
    cuCtxGetCurrent(CUcontext *context) SUCCEED(*context = current) EXPORT CUresult
    cuCtxSetCurrent(CUcontext context) SUCCEED(current = context) EXPORT CUresult
    cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
        SUCCEED(*mode = CU_STREAM_CAPTURE_MODE_GLOBAL) EXPORT CUresult
    cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
        SUCCEED(*status = CU_STREAM_CAPTURE_STATUS_NONE)
            CREATE(cuStreamCreateWithPriority, CUstream, unsigned int flags, int priority)
                CREATE(cuEventCreate, CUevent, unsigned int flags)
#undef cuMemAlloc
#undef cuMemAddressReserve
                    CREATE(cuMemAlloc_v2, CUdeviceptr, size_t size)
                        CREATE(cuMemAllocAsync, CUdeviceptr, size_t size, CUstream stream)
                            CREATE(cuMemAddressReserve, CUdeviceptr, size_t size, size_t alignment,
                                   CUdeviceptr hint, unsigned long long flags)
                                CREATE(cuMemCreate, CUmemGenericAllocationHandle, size_t size,
                                       const CUmemAllocationProp *of,
                                       unsigned long long flags) EXPORT CUresult
    cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *of,
                                  CUmemAllocationGranularity_flags option)
        SUCCEED(*size = GRANULARITY) CREATE(cuModuleLoadData, CUmodule, const void *image)
            CREATE(cuModuleGetFunction, CUfunction, CUmodule module, const char *name)
    /* A kernel with the parameters of wrappers.cpp. */
    EXPORT CUresult
    cuFuncGetParamInfo(CUfunction kernel, size_t index, size_t *offset, size_t *size) {
    CALLED;
    if (index >= 4) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = index * 8;
    *size = index < 3 ? 8 : 4;
    return CUDA_SUCCESS;
}
CREATE(cuGraphCreate, CUgraph, unsigned int flags)
CREATE(cuGraphInstantiateWithFlags, CUgraphExec, CUgraph graph, unsigned long long flags)
CREATE(cuUserObjectCreate, CUuserObject, void *object, CUhostFn destroy, unsigned int count,
       unsigned int flags)
#define ADD_NODE(name, ...)                                                                        \
    CREATE(name, CUgraphNode, CUgraph graph, const CUgraphNode *dependencies, size_t count,        \
           ##__VA_ARGS__)
#undef cuGraphAddKernelNode
ADD_NODE(cuGraphAddEmptyNode)
ADD_NODE(cuGraphAddKernelNode, const CUDA_KERNEL_NODE_PARAMS *parameters)
ADD_NODE(cuGraphAddKernelNode_v2, const CUDA_KERNEL_NODE_PARAMS *parameters)
ADD_NODE(cuGraphAddMemcpyNode, const CUDA_MEMCPY3D *copy, CUcontext context)
ADD_NODE(cuGraphAddMemsetNode, const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
ADD_NODE(cuGraphAddHostNode, const CUDA_HOST_NODE_PARAMS *call)

/* The runtime. */
#define CREATE_BY_RUNTIME(name, type, ...)                                                         \
    EXPORT cudaError_t name(type *created, ##__VA_ARGS__) {                                        \
        CALLED;                                                                                    \
        *created = (type)next_handle();                                                            \
        return cudaSuccess;                                                                        \
    }
#define ADD_RUNTIME_NODE(name, ...)                                                                \
    CREATE_BY_RUNTIME(name, cudaGraphNode_t, cudaGraph_t graph,                                    \
                      const cudaGraphNode_t *dependencies, size_t count, ##__VA_ARGS__)
EXPORT cudaError_t cudaRuntimeGetVersion(int *version) {
    CALLED;
    *version = CUDART_VERSION;
    return cudaSuccess;
}
CREATE_BY_RUNTIME(cudaGraphCreate, cudaGraph_t, unsigned int flags)
ADD_RUNTIME_NODE(cudaGraphAddEmptyNode)
ADD_RUNTIME_NODE(cudaGraphAddMemsetNode, const struct cudaMemsetParams *fill)
ADD_RUNTIME_NODE(cudaGraphAddMemcpyNode, const struct cudaMemcpy3DParms *copy)
ADD_RUNTIME_NODE(cudaGraphAddHostNode, const struct cudaHostNodeParams *call)
