// The runtime's process state: first calls, last error, a child of fork, exit.
#include "../../runtime_questions.hpp"

#include <cstdlib>
#include <thread>

namespace record::QUESTIONS::runtime {
namespace {

bool has_current_context() {
    CUcontext current = MAKE(cuCtxGetCurrent);
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

SECTION_ONCE("process") {
    int value = 77;
    unsigned int flags = 77;
    ASK(cudaPeekAtLastError, ", first of all");
    ASK(cudaGetLastError, "");
    ASK(cudaDriverGetVersion, "(null)", nullptr);
    ASK(cudaDriverGetVersion, "", &value);
    ASK(cudaRuntimeGetVersion, "(null)", nullptr);
    ASK(cudaRuntimeGetVersion, "", &value);
    ASK(cudaGetLastError, " after these");
    ASK(cudaGetDeviceFlags, "", &flags).note("flags", flags);
    ASK(cudaGetDevice, "", &value).note("device", value);
    note("a context is current", has_current_context());
    ASK(cudaSetDevice, "(-1)", -1).note("a context is current", has_current_context());
    ASK(cudaSetDevice, "(0)", 0).note("a context is current", has_current_context());
    ASK(cudaEventCreate, "", &parents_event);
    in_child(ask_child);
    ask("parent: cudaEventQuery", r.cudaEventQuery(parents_event));
    ask("parent: cudaGetLastError", r.cudaGetLastError());
    ask("parent: cudaEventDestroy", r.cudaEventDestroy(parents_event));
}

SECTION_ONCE("at_the_end") {
    std::atexit([] { at_exit("registered before the first call"); });
    if (begin()) {
        std::atexit([] { at_exit("registered after the first call"); });
    }
}

// Which calls set and which calls clear the thread's last error.
SECTION_ONCE("errors", begin) {
    void *p = nullptr;
    note("name of 0", r.cudaGetErrorName(cudaSuccess));
    note("text of 0", r.cudaGetErrorString(cudaSuccess));
    note("name of 2", r.cudaGetErrorName(cudaErrorMemoryAllocation));
    note("text of 2", r.cudaGetErrorString(cudaErrorMemoryAllocation));
    note("name of 700", r.cudaGetErrorName(cudaErrorIllegalAddress));
    note("text of 700", r.cudaGetErrorString(cudaErrorIllegalAddress));
    note("name of 999999", r.cudaGetErrorName(static_cast<cudaError_t>(999999)));
    note("text of 999999", r.cudaGetErrorString(static_cast<cudaError_t>(999999)));
    ASK(cudaPeekAtLastError, "");
    ASK(cudaSetDevice, "(1000)", 1000);
    ASK(cudaMalloc, " of 16", &p, 16);
    ASK(cudaPeekAtLastError, "");
    ASK(cudaPeekAtLastError, " again");
    ASK(cudaFree, " of garbage", reinterpret_cast<void *>(0x1234560));
    ASK(cudaPeekAtLastError, ", the newer one");
    cudaError_t there = cudaErrorUnknown;
    std::thread([&] { there = r.cudaPeekAtLastError(); }).join();
    ask("cudaPeekAtLastError of another thread", there);
    ASK(cudaGetLastError, "");
    ASK(cudaGetLastError, " again");
    ask("a failed call of the driver", d.cuCtxGetDevice(nullptr));
    ASK(cudaPeekAtLastError, " after it");
    cudaStream_t s = MAKE(cudaStreamCreateWithFlags, cudaStreamNonBlocking);
    cudaEvent_t e = MAKE(cudaEventCreateWithFlags, cudaEventDisableTiming);
    r.cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    ASK(cudaStreamQuery, " of a capture", s);
    ASK(cudaPeekAtLastError, "");
    cudaGraph_t graph = nullptr;
    ASK(cudaStreamEndCapture, ", invalidated", s, &graph);
    ASK(cudaGetLastError, "");
    ASK(cudaMalloc, " of 2^63", &p, std::size_t(1) << 63);
    ASK(cudaMalloc, " of 16 after it", &p, 16);
    ASK(cudaGetLastError, "");
    ASK(cudaEventDestroy, "", e);
    ASK(cudaStreamDestroy, "", s);
    ASK(cudaGetLastError, "");
}

// Which of several errors a call reports.
SECTION_ONCE("order_of_errors", begin) {
    constexpr auto unknown_kind = static_cast<cudaMemcpyKind>(99);
    const cudaChannelFormatDesc three{8, 8, 8, 0, cudaChannelFormatKindUnsigned};
    void *p = nullptr;
    char bus[32] = "";
    cudaArray_t array = nullptr;
    ASK(cudaMalloc, "(null, 2^50)", nullptr, std::size_t(1) << 50);
    ASK(cudaMallocManaged, " of 0, flags 0", &p, 0, 0);
    ASK(cudaHostAlloc, " of 0, flags 0x100", &p, 0, 0x100);
    ASK(cudaHostRegister, " of null, 0 bytes, flags 0x80", nullptr, 0, 0x80);
    ASK(cudaMallocArray, " of three channels, 0 x 8, flags 0x1000", &array, &three, 0, 8, 0x1000);
    ASK(cudaMemcpy, " of nulls, kind 99", nullptr, nullptr, 1, unknown_kind);
    ASK(cudaMemcpyPeer, " of nulls, devices 1000 and -1", nullptr, 1000, nullptr, -1, 1);
    r.cudaMalloc(&p, 256);
    ASK(cudaMemcpy2D, " of a pitch below the width, kind 99", p, 5, bus, 5, 10, 2, unknown_kind);
    ASK(cudaDeviceGetPCIBusId, " of device 1000, length 4", bus, 4, 1000);
    ASK(cudaDeviceEnablePeerAccess, "(1000, flags 1)", 1000, 1);
    ASK(cudaStreamCreateWithFlags, "(null, 0x10)", nullptr, 0x10);
    ASK(cudaLaunchKernel, " of null, no blocks", nullptr, {0, 1, 1}, {2048, 1, 1}, nullptr, 0,
        nullptr);
    cudaGraph_t graph = nullptr;
    cudaStream_t s = MAKE(cudaStreamCreate);
    r.cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    ASK(cudaStreamSynchronize, " of a capture", s);
    ASK(cudaMemcpyAsync, " into it, kind 99", p, bus, 16, unknown_kind, s);
    ASK(cudaMemsetAsync, " of null into it", nullptr, 0, 16, s);
    ASK(cudaLaunchKernel, " of null into it", nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, s);
    ASK(cudaStreamEndCapture, "", s, &graph);
    ASK(cudaGetLastError, "");
    ASK(cudaStreamDestroy, "", s);
    ASK(cudaFree, "", p);
}

} // namespace record::QUESTIONS::runtime
