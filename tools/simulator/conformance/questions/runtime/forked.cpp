// Statuses of calls that rarely fail, where every call fails: in a child of a process that has used
// its device, and in a failed context.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {
namespace {

// The default stream only: the driver would accept the parent's objects.
void ask_about_streams() {
    unsigned int flags = 0;
    int priority = 0;
    ASK(cudaStreamGetFlags, "", nullptr, &flags);
    ASK(cudaStreamGetPriority, "", nullptr, &priority);
#if CUDART_VERSION >= 12000
    unsigned long long id = 0;
    ASK(cudaStreamGetId, "", nullptr, &id);
#endif
#if CUDART_VERSION >= 12080
    int device = 0;
    ASK(cudaStreamGetDevice, "", nullptr, &device);
#endif
    ASK(cudaStreamCopyAttributes, "", nullptr, nullptr);
    ASK(cudaStreamSynchronize, "", nullptr);
    ASK(cudaStreamQuery, "", nullptr);
    ASK(cudaDeviceSynchronize, "");
}

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
void ask_about_the_device() {
    std::size_t free_bytes = 0, total = 0;
    cudaFuncCache cache{};
    cudaSharedMemConfig shared{};
    cudaPointerAttributes attributes{};
    cudaDeviceProp properties{};
    int least = 0, greatest = 0, device = 0;
    ASK(cudaMemGetInfo, "", &free_bytes, &total);
    ASK(cudaPointerGetAttributes, "", &attributes, &least);
    ASK(cudaChooseDevice, "", &device, &properties);
    ASK(cudaDeviceGetCacheConfig, "", &cache);
    ASK(cudaDeviceGetSharedMemConfig, "", &shared);
    ASK(cudaDeviceGetStreamPriorityRange, "", &least, &greatest);
    ASK(cudaCtxResetPersistingL2Cache, "");
    ASK(cudaProfilerStart, "");
    ASK(cudaProfilerStop, "");
    ASK(cudaDeviceReset, "");
}
#endif

void ask_child() {
    ask_about_streams();
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    ask_about_the_device();
#endif
}

} // namespace

SECTION("forked", begin) {
    in_child(ask_child);
    ask("parent: cudaDeviceSynchronize", r.cudaDeviceSynchronize());
}

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
// Recorded: the driver accepts a copy into an array without memory, which then fails the context.
SECTION_ONCE("failed", begin) {
    const cudaChannelFormatDesc bytes{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t empty = nullptr;
    cudaMipmappedArray_t mipmapped = nullptr;
    void *q = nullptr;
    char source[16] = "";
    r.cudaMalloc3DArray(&empty, &bytes, {64, 64, 0}, cudaArrayDeferredMapping);
    cudaArray_t array = MAKE(cudaMallocArray, &bytes, 16, 8, 0);
    r.cudaMallocMipmappedArray(&mipmapped, &bytes, {16, 8, 0}, 1, 0);
    cudaEvent_t event = MAKE(cudaEventCreate);
    cudaStream_t stream = MAKE(cudaStreamCreate);
    void *p = MAKE(cudaMalloc, 4096);
    ASK(cuMemcpyHtoA, " into an array without memory", reinterpret_cast<CUarray>(empty), 0, source,
        sizeof source);
    ASK(cudaDeviceSynchronize, "");
    ASK(cudaPeekAtLastError, "");
    ASK(cudaGetLastError, "");
    ASK(cudaGetLastError, " again");
    ASK(cudaMalloc, "", &q, 16);
    ASK(cudaGetLastError, "");
    ASK(cudaMemset, "", p, 0, 16);
    ASK(cudaStreamQuery, "", stream);
    ASK(cudaEventQuery, "", event);
    ASK(cudaGetLastError, "");
    ASK(cudaSetDevice, "(1000)", 1000);
    ASK(cudaGetLastError, " after another error");
    ASK(cudaGetLastError, " again");
    ASK(cudaSetDevice, "(0)", 0);
    ASK(cudaFreeArray, "", array);
    ASK(cudaFreeMipmappedArray, "", mipmapped);
    ASK(cudaEventDestroy, "", event);
    ASK(cudaStreamDestroy, "", stream);
    ASK(cudaFree, "", p);
    ASK(cudaDeviceReset, "");
    ASK(cudaGetLastError, " after the reset");
    ASK(cudaMalloc, " after the reset", &q, 16);
}
#endif

} // namespace record::QUESTIONS::runtime
