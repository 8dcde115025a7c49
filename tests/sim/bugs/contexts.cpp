// Work in the wrong context, on the wrong device, or without a context.
#include "tools.hpp"

#include <thread>

namespace bugs {
namespace {

constexpr std::size_t bytes = 64;

} // namespace

void add_context_bugs(Programs &programs) {
    programs["an event is created while the wrong device is current"] = [](bool buggy) {
        must(cudaSetDevice(1));
        Stream stream;
        must(cudaSetDevice(buggy ? 0 : 1));
        Event event;
        ignore(cudaEventRecord(event, stream));
        must(cudaStreamSynchronize(stream));
    };
    programs["a kernel uses memory of a device without peer access"] = [](bool buggy) {
        must(cudaSetDevice(1));
        DeviceMemory memory(bytes);
        must(cudaSetDevice(0));
        PrimaryContext context;
        Kernels kernels;
        if (!buggy) {
            must(cudaDeviceEnablePeerAccess(1, 0));
        }
        ignore(fill(kernel_of(kernels), memory, 16, 1));
        ignore(cudaDeviceSynchronize());
        if (!buggy) {
            must(cudaDeviceDisablePeerAccess(1));
        }
    };
    programs["memory is freed after its context was destroyed"] = [](bool buggy) {
        PrimaryContext primary;
        CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
        must(cuCtxCreate(&context, nullptr, 0, 0));
#else
        must(cuCtxCreate(&context, 0, 0));
#endif
        CUdeviceptr memory = 0;
        must(cuMemAlloc(&memory, bytes));
        if (!buggy) {
            must(cuMemFree(memory));
        }
        must(cuCtxDestroy(context));
        if (buggy) {
            ignore(cuMemFree(memory));
        }
    };
    programs["a thread has no current context"] = [](bool buggy) {
        PrimaryContext context;
        CUdeviceptr memory = 0;
        std::thread([&] {
            if (!buggy) {
                must(cuCtxSetCurrent(context));
            }
            ignore(cuMemAlloc(&memory, bytes));
        }).join();
        ignore(cuMemsetD8(memory, 0, bytes));
        ignore(cuMemFree(memory));
    };
    programs["a primary context is released too often"] = [](bool buggy) {
        must(cuInit(0));
        CUcontext context = nullptr;
        must(cuDevicePrimaryCtxRetain(&context, 0));
        must(cuDevicePrimaryCtxRelease(0));
        if (buggy) {
            ignore(cuDevicePrimaryCtxRelease(0));
        }
    };
}

} // namespace bugs
