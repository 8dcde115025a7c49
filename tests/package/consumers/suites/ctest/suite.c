/* A user's test program without a framework: its argument is the name of a test. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define OK(call) CHECK((call) == 0)

enum { count = 100, bytes = count * sizeof(int) };

static void copies(void) {
    cudaStream_t first, second;
    cudaEvent_t filled;
    int *there, *here;
    OK(cudaStreamCreate(&first));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreate(&filled));
    OK(cudaMalloc((void **)&there, bytes));
    OK(cudaMallocHost((void **)&here, bytes));
    OK(cudaMemsetAsync(there, 1, bytes, first));
    OK(cudaEventRecord(filled, first));
    OK(cudaStreamWaitEvent(second, filled, 0));
    OK(cudaMemcpyAsync(here, there, bytes, cudaMemcpyDeviceToHost, second));
    OK(cudaStreamSynchronize(second));
    CHECK(here[count - 1] == 0x01010101);
    OK(cudaFreeHost(here));
    OK(cudaFree(there));
    OK(cudaEventDestroy(filled));
    OK(cudaStreamDestroy(second));
    OK(cudaStreamDestroy(first));
}

static void graph(void) {
    cudaStream_t stream;
    cudaGraph_t captured;
    cudaGraphExec_t replay;
    int *there, here = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&there, sizeof here));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(there, 2, sizeof here, stream));
    OK(cudaStreamEndCapture(stream, &captured));
    OK(cudaGraphInstantiateWithFlags(&replay, captured, 0));
    OK(cudaGraphLaunch(replay, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&here, there, sizeof here, cudaMemcpyDeviceToHost));
    CHECK(here == 0x02020202);
    OK(cudaGraphExecDestroy(replay));
    OK(cudaGraphDestroy(captured));
    OK(cudaFree(there));
    OK(cudaStreamDestroy(stream));
}

static void pool(void) {
    cudaStream_t stream;
    void *memory;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync(&memory, bytes, stream));
    OK(cudaMemsetAsync(memory, 0, bytes, stream));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

static void kernel(void) {
    static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                              ".visible .entry count(.param .u64 p, .param .u32 n) { ret; }\n";
    CUmodule module;
    CUfunction function;
    void *there;
    int here[4] = {0};
    unsigned int n = 4;
    void *arguments[] = {&there, &n};
    OK(cudaMalloc(&there, sizeof here));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&function, module, "count"));
    OK(cuLaunchKernel(function, 1, 1, 1, n, 1, 1, 0, NULL, arguments, NULL));
    OK(cudaMemcpy(here, there, sizeof here, cudaMemcpyDeviceToHost));
    CHECK(here[3] == 3);
    OK(cuModuleUnload(module));
    OK(cudaFree(there));
}

static void peers(void) {
    struct cudaDeviceProp properties;
    int devices = 0, here = 0;
    void *memory[2];
    OK(cudaGetDeviceCount(&devices));
    CHECK(devices == 2);
    OK(cudaGetDeviceProperties(&properties, 1));
    CHECK(strcmp(properties.name, "a second GPU") == 0);
    for (int device = 0; device < devices; ++device) {
        OK(cudaSetDevice(device));
        OK(cudaMalloc(&memory[device], sizeof here));
        OK(cudaMemset(memory[device], device, sizeof here));
    }
    OK(cudaMemcpyPeer(memory[0], 0, memory[1], 1, sizeof here));
    OK(cudaMemcpy(&here, memory[0], sizeof here, cudaMemcpyDeviceToHost));
    CHECK(here == 0x01010101);
    OK(cudaFree(memory[0]));
    OK(cudaFree(memory[1]));
}

static void out_of_memory(void) {
    void *first, *second;
    OK(cudaMalloc(&first, bytes));
    CHECK(cudaMalloc(&second, bytes) == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    OK(cudaMalloc(&second, bytes));
    OK(cudaFree(second));
    OK(cudaFree(first));
}

static void leak(void) {
    void *memory;
    OK(cudaMalloc(&memory, bytes));
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {{"copies", copies}, {"graph", graph}, {"pool", pool},
                 {"kernel", kernel}, {"peers", peers}, {"out_of_memory", out_of_memory},
                 {"leak", leak}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
        if (argc == 2 && strcmp(argv[1], tests[i].name) == 0) {
            tests[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: %s TEST\n", argv[0]);
    return 2;
}
