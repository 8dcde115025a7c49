// Objects that are never destroyed.
#include "tools.hpp"

namespace bugs {

void add_leaks(Programs &programs) {
    programs["device memory is not freed"] = [](bool buggy) {
        void *memory = allocated(64);
        must(cudaMemset(memory, 0, 64));
        if (!buggy) {
            must(cudaFree(memory));
        }
    };
    programs["pinned memory is not freed"] = [](bool buggy) {
        int *memory = pinned(16);
        memory[0] = 1;
        if (!buggy) {
            must(cudaFreeHost(memory));
        }
    };
    programs["memory is left to cudaDeviceReset"] = [](bool buggy) {
        void *memory = allocated(64);
        if (!buggy) {
            must(cudaFree(memory));
        }
        must(cudaDeviceReset());
    };
    programs["a stream is not destroyed"] = [](bool buggy) {
        cudaStream_t stream = new_stream();
        must(cudaStreamSynchronize(stream));
        if (!buggy) {
            must(cudaStreamDestroy(stream));
        }
    };
    programs["an event is not destroyed"] = [](bool buggy) {
        cudaEvent_t event = new_event();
        must(cudaEventRecord(event, nullptr));
        must(cudaEventSynchronize(event));
        if (!buggy) {
            must(cudaEventDestroy(event));
        }
    };
    programs["a module is not unloaded"] = [](bool buggy) {
        must(cudaSetDevice(0));
        CUmodule module = load_kernels();
        if (!buggy) {
            must(cuModuleUnload(module));
        }
    };
    programs["a context is not destroyed"] = [](bool buggy) {
        must(cuInit(0));
        CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
        must(cuCtxCreate(&context, nullptr, 0, 0));
#else
        must(cuCtxCreate(&context, 0, 0));
#endif
        if (!buggy) {
            must(cuCtxDestroy(context));
        }
    };
    programs["a primary context is not released"] = [](bool buggy) {
        must(cuInit(0));
        CUcontext context = nullptr;
        must(cuDevicePrimaryCtxRetain(&context, 0));
        if (!buggy) {
            must(cuDevicePrimaryCtxRelease(0));
        }
    };
    // The retaining function runs twice.
    programs["a primary context is retained twice"] = [](bool buggy) {
        must(cuInit(0));
        CUcontext context = nullptr;
        for (int i = 0; i < (buggy ? 2 : 1); ++i) {
            must(cuDevicePrimaryCtxRetain(&context, 0));
        }
        must(cuDevicePrimaryCtxRelease(0));
    };
    programs["a context is pushed and not popped"] = [](bool buggy) {
        must(cuInit(0));
        CUcontext context = nullptr;
        must(cuDevicePrimaryCtxRetain(&context, 0));
        must(cuCtxPushCurrent(context));
        if (!buggy) {
            must(cuCtxPopCurrent(&context));
        }
        must(cuDevicePrimaryCtxRelease(0));
    };
    programs["a graph is not destroyed"] = [](bool buggy) {
        cudaGraph_t graph = nullptr;
        must(cudaGraphCreate(&graph, 0));
        if (!buggy) {
            must(cudaGraphDestroy(graph));
        }
    };
    // The program creates one for each frame and keeps only the newest.
    programs["an executable graph is replaced and not destroyed"] = [](bool buggy) {
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        must(cudaGraphCreate(&graph, 0));
        for (int frame = 0; frame < 2; ++frame) {
            if (executable != nullptr && !buggy) {
                must(cudaGraphExecDestroy(executable));
            }
            must(cudaGraphInstantiate(&executable, graph, 0));
        }
        must(cudaGraphExecDestroy(executable));
        must(cudaGraphDestroy(graph));
    };
    programs["stream-ordered memory is not freed"] = [](bool buggy) {
        Stream stream;
        void *memory = nullptr;
        must(cudaMallocAsync(&memory, 64, stream));
        if (!buggy) {
            must(cudaFreeAsync(memory, stream));
        }
        must(cudaStreamSynchronize(stream));
    };
}

} // namespace bugs
