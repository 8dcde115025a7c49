// Statuses of calls that rarely fail, where every call fails: in a child of a process that has used
// its device, and in a failed context.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {
namespace {

// The default stream only: the driver would accept the parent's objects.
void ask_about_streams() {
    unsigned int flags = 0;
    int priority = 0;
    ask("cudaStreamGetFlags", r.cudaStreamGetFlags(nullptr, &flags));
    ask("cudaStreamGetPriority", r.cudaStreamGetPriority(nullptr, &priority));
#if CUDART_VERSION >= 12000
    unsigned long long id = 0;
    ask("cudaStreamGetId", r.cudaStreamGetId(nullptr, &id));
#endif
#if CUDART_VERSION >= 12080
    int device = 0;
    ask("cudaStreamGetDevice", r.cudaStreamGetDevice(nullptr, &device));
#endif
    ask("cudaStreamCopyAttributes", r.cudaStreamCopyAttributes(nullptr, nullptr));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(nullptr));
    ask("cudaStreamQuery", r.cudaStreamQuery(nullptr));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
}

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
void ask_about_the_device() {
    std::size_t free_bytes = 0, total = 0;
    cudaFuncCache cache{};
    cudaSharedMemConfig shared{};
    cudaPointerAttributes attributes{};
    cudaDeviceProp properties{};
    int least = 0, greatest = 0, device = 0;
    ask("cudaMemGetInfo", r.cudaMemGetInfo(&free_bytes, &total));
    ask("cudaPointerGetAttributes", r.cudaPointerGetAttributes(&attributes, &least));
    ask("cudaChooseDevice", r.cudaChooseDevice(&device, &properties));
    ask("cudaDeviceGetCacheConfig", r.cudaDeviceGetCacheConfig(&cache));
    ask("cudaDeviceGetSharedMemConfig", r.cudaDeviceGetSharedMemConfig(&shared));
    ask("cudaDeviceGetStreamPriorityRange", r.cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ask("cudaCtxResetPersistingL2Cache", r.cudaCtxResetPersistingL2Cache());
    ask("cudaProfilerStart", r.cudaProfilerStart());
    ask("cudaProfilerStop", r.cudaProfilerStop());
    ask("cudaDeviceReset", r.cudaDeviceReset());
}
#endif

void ask_child() {
    ask_about_streams();
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    ask_about_the_device();
#endif
}

} // namespace

void forked() {
    if (!begin()) {
        return;
    }
    in_child(ask_child);
    ask("parent: cudaDeviceSynchronize", r.cudaDeviceSynchronize());
}

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
// Recorded: the driver accepts a copy into an array without memory, which then fails the context.
void failed() {
    if (!begin()) {
        return;
    }
    const cudaChannelFormatDesc bytes{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t empty = nullptr, array = nullptr;
    cudaMipmappedArray_t mipmapped = nullptr;
    cudaEvent_t event = nullptr;
    cudaStream_t stream = nullptr;
    void *p = nullptr, *q = nullptr;
    char source[16] = "";
    r.cudaMalloc3DArray(&empty, &bytes, {64, 64, 0}, cudaArrayDeferredMapping);
    r.cudaMallocArray(&array, &bytes, 16, 8, 0);
    r.cudaMallocMipmappedArray(&mipmapped, &bytes, {16, 8, 0}, 1, 0);
    r.cudaEventCreate(&event);
    r.cudaStreamCreate(&stream);
    r.cudaMalloc(&p, 4096);
    ask("cuMemcpyHtoA into an array without memory",
        d.cuMemcpyHtoA(reinterpret_cast<CUarray>(empty), 0, source, sizeof source));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    ask("cudaPeekAtLastError", r.cudaPeekAtLastError());
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaGetLastError again", r.cudaGetLastError());
    ask("cudaMalloc", r.cudaMalloc(&q, 16));
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaMemset", r.cudaMemset(p, 0, 16));
    ask("cudaStreamQuery", r.cudaStreamQuery(stream));
    ask("cudaEventQuery", r.cudaEventQuery(event));
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaSetDevice(1000)", r.cudaSetDevice(1000));
    ask("cudaGetLastError after another error", r.cudaGetLastError());
    ask("cudaGetLastError again", r.cudaGetLastError());
    ask("cudaSetDevice(0)", r.cudaSetDevice(0));
    ask("cudaFreeArray", r.cudaFreeArray(array));
    ask("cudaFreeMipmappedArray", r.cudaFreeMipmappedArray(mipmapped));
    ask("cudaEventDestroy", r.cudaEventDestroy(event));
    ask("cudaStreamDestroy", r.cudaStreamDestroy(stream));
    ask("cudaFree", r.cudaFree(p));
    ask("cudaDeviceReset", r.cudaDeviceReset());
    ask("cudaGetLastError after the reset", r.cudaGetLastError());
    ask("cudaMalloc after the reset", r.cudaMalloc(&q, 16));
}
#endif

} // namespace record::QUESTIONS::runtime
