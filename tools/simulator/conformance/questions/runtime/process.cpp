// The runtime's process state: first calls, last error, a child of fork, exit.
#include "../../runtime_questions.hpp"

#include <cstdlib>
#include <thread>

namespace record::QUESTIONS::runtime {
namespace {

bool has_current_context() {
    CUcontext current = nullptr;
    d.cuCtxGetCurrent(&current);
    return current != nullptr;
}

cudaEvent_t parents_event = nullptr;

void ask_child() {
    int value = 0;
    void *p = nullptr;
    ask("child: cudaGetLastError", r.cudaGetLastError());
    ask("child: cudaDriverGetVersion", r.cudaDriverGetVersion(&value));
    ask("child: cudaRuntimeGetVersion", r.cudaRuntimeGetVersion(&value));
    ask("child: cudaGetDeviceCount", r.cudaGetDeviceCount(&value));
    ask("child: cudaGetDevice", r.cudaGetDevice(&value));
    ask("child: cudaSetDevice(0)", r.cudaSetDevice(0));
    ask("child: cudaFree(null)", r.cudaFree(nullptr));
    ask("child: cudaMalloc", r.cudaMalloc(&p, 16));
    ask("child: cudaEventDestroy of the parent's", r.cudaEventDestroy(parents_event));
    ask("child: cudaPeekAtLastError", r.cudaPeekAtLastError());
    ask("child: cudaGetLastError", r.cudaGetLastError());
    ask("child: cudaGetLastError again", r.cudaGetLastError());
}

void at_exit(const char *which) {
    void *p = nullptr;
    int count = 0;
    note("-- a function of atexit", which);
    ask("at exit: cudaGetDeviceCount", r.cudaGetDeviceCount(&count));
    ask("at exit: cudaFree(null)", r.cudaFree(nullptr));
    ask("at exit: cudaMalloc", r.cudaMalloc(&p, 16));
    ask("at exit: cudaGetLastError", r.cudaGetLastError());
}

} // namespace

void process() {
    int value = 77;
    unsigned int flags = 77;
    ask("cudaPeekAtLastError, first of all", r.cudaPeekAtLastError());
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaDriverGetVersion(null)", r.cudaDriverGetVersion(nullptr));
    ask("cudaDriverGetVersion", r.cudaDriverGetVersion(&value));
    ask("cudaRuntimeGetVersion(null)", r.cudaRuntimeGetVersion(nullptr));
    ask("cudaRuntimeGetVersion", r.cudaRuntimeGetVersion(&value));
    ask("cudaGetLastError after these", r.cudaGetLastError());
    ask("cudaGetDeviceFlags", r.cudaGetDeviceFlags(&flags));
    note("flags", flags);
    ask("cudaGetDevice", r.cudaGetDevice(&value));
    note("device", value);
    note("a context is current", has_current_context());
    ask("cudaSetDevice(-1)", r.cudaSetDevice(-1));
    note("a context is current", has_current_context());
    ask("cudaSetDevice(0)", r.cudaSetDevice(0));
    note("a context is current", has_current_context());
    ask("cudaEventCreate", r.cudaEventCreate(&parents_event));
    in_child(ask_child);
    ask("parent: cudaEventQuery", r.cudaEventQuery(parents_event));
    ask("parent: cudaGetLastError", r.cudaGetLastError());
    ask("parent: cudaEventDestroy", r.cudaEventDestroy(parents_event));
}

void at_the_end() {
    std::atexit([] { at_exit("registered before the first call"); });
    if (begin()) {
        std::atexit([] { at_exit("registered after the first call"); });
    }
}

// Which calls set and which calls clear the thread's last error.
void errors() {
    if (!begin()) {
        return;
    }
    void *p = nullptr;
    note("name of 0", r.cudaGetErrorName(cudaSuccess));
    note("text of 0", r.cudaGetErrorString(cudaSuccess));
    note("name of 2", r.cudaGetErrorName(cudaErrorMemoryAllocation));
    note("text of 2", r.cudaGetErrorString(cudaErrorMemoryAllocation));
    note("name of 700", r.cudaGetErrorName(cudaErrorIllegalAddress));
    note("text of 700", r.cudaGetErrorString(cudaErrorIllegalAddress));
    note("name of 999999", r.cudaGetErrorName(static_cast<cudaError_t>(999999)));
    note("text of 999999", r.cudaGetErrorString(static_cast<cudaError_t>(999999)));
    ask("cudaPeekAtLastError", r.cudaPeekAtLastError());
    ask("cudaSetDevice(1000)", r.cudaSetDevice(1000));
    ask("cudaMalloc of 16", r.cudaMalloc(&p, 16));
    ask("cudaPeekAtLastError", r.cudaPeekAtLastError());
    ask("cudaPeekAtLastError again", r.cudaPeekAtLastError());
    ask("cudaFree of garbage", r.cudaFree(reinterpret_cast<void *>(0x1234560)));
    ask("cudaPeekAtLastError, the newer one", r.cudaPeekAtLastError());
    cudaError_t there = cudaErrorUnknown;
    std::thread([&] { there = r.cudaPeekAtLastError(); }).join();
    ask("cudaPeekAtLastError of another thread", there);
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaGetLastError again", r.cudaGetLastError());
    ask("a failed call of the driver", d.cuCtxGetDevice(nullptr));
    ask("cudaPeekAtLastError after it", r.cudaPeekAtLastError());
    cudaStream_t s = nullptr;
    cudaEvent_t e = nullptr;
    r.cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    r.cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    r.cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    ask("cudaStreamQuery of a capture", r.cudaStreamQuery(s));
    ask("cudaPeekAtLastError", r.cudaPeekAtLastError());
    cudaGraph_t graph = nullptr;
    ask("cudaStreamEndCapture, invalidated", r.cudaStreamEndCapture(s, &graph));
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaMalloc of 2^63", r.cudaMalloc(&p, std::size_t(1) << 63));
    ask("cudaMalloc of 16 after it", r.cudaMalloc(&p, 16));
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaEventDestroy", r.cudaEventDestroy(e));
    ask("cudaStreamDestroy", r.cudaStreamDestroy(s));
    ask("cudaGetLastError", r.cudaGetLastError());
}

// Which of several errors a call reports.
void order_of_errors() {
    if (!begin()) {
        return;
    }
    constexpr auto unknown_kind = static_cast<cudaMemcpyKind>(99);
    const cudaChannelFormatDesc three{8, 8, 8, 0, cudaChannelFormatKindUnsigned};
    void *p = nullptr;
    char bus[32] = "";
    cudaArray_t array = nullptr;
    ask("cudaMalloc(null, 2^50)", r.cudaMalloc(nullptr, std::size_t(1) << 50));
    ask("cudaMallocManaged of 0, flags 0", r.cudaMallocManaged(&p, 0, 0));
    ask("cudaHostAlloc of 0, flags 0x100", r.cudaHostAlloc(&p, 0, 0x100));
    ask("cudaHostRegister of null, 0 bytes, flags 0x80", r.cudaHostRegister(nullptr, 0, 0x80));
    ask("cudaMallocArray of three channels, 0 x 8, flags 0x1000",
        r.cudaMallocArray(&array, &three, 0, 8, 0x1000));
    ask("cudaMemcpy of nulls, kind 99", r.cudaMemcpy(nullptr, nullptr, 1, unknown_kind));
    ask("cudaMemcpyPeer of nulls, devices 1000 and -1",
        r.cudaMemcpyPeer(nullptr, 1000, nullptr, -1, 1));
    r.cudaMalloc(&p, 256);
    ask("cudaMemcpy2D of a pitch below the width, kind 99",
        r.cudaMemcpy2D(p, 5, bus, 5, 10, 2, unknown_kind));
    ask("cudaDeviceGetPCIBusId of device 1000, length 4", r.cudaDeviceGetPCIBusId(bus, 4, 1000));
    ask("cudaDeviceEnablePeerAccess(1000, flags 1)", r.cudaDeviceEnablePeerAccess(1000, 1));
    ask("cudaStreamCreateWithFlags(null, 0x10)", r.cudaStreamCreateWithFlags(nullptr, 0x10));
    ask("cudaLaunchKernel of null, no blocks",
        r.cudaLaunchKernel(nullptr, {0, 1, 1}, {2048, 1, 1}, nullptr, 0, nullptr));
    cudaStream_t s = nullptr;
    cudaGraph_t graph = nullptr;
    r.cudaStreamCreate(&s);
    r.cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    ask("cudaStreamSynchronize of a capture", r.cudaStreamSynchronize(s));
    ask("cudaMemcpyAsync into it, kind 99", r.cudaMemcpyAsync(p, bus, 16, unknown_kind, s));
    ask("cudaMemsetAsync of null into it", r.cudaMemsetAsync(nullptr, 0, 16, s));
    ask("cudaLaunchKernel of null into it",
        r.cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, s));
    ask("cudaStreamEndCapture", r.cudaStreamEndCapture(s, &graph));
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaStreamDestroy", r.cudaStreamDestroy(s));
    ask("cudaFree", r.cudaFree(p));
}

} // namespace record::QUESTIONS::runtime
