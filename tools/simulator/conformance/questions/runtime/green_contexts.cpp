// The runtime, while the context of a green context is current.
#include "../../runtime_questions.hpp"
#include "../green_parts.hpp"

namespace record::QUESTIONS::runtime {

namespace {

void note_current(const GreenParts &of) {
    note("current", of.name_of(MAKE(cuCtxGetCurrent)).c_str());
}

void note_green(const GreenParts &of, const char *what, cudaStream_t stream) {
    CUgreenCtx green = nullptr;
    CUcontext its = nullptr;
    ask(std::string("cuStreamGetGreenCtx of ") + what, d.cuStreamGetGreenCtx(stream, &green))
        .told("green context", of.name_of(green).c_str());
    ask(std::string("cuStreamGetCtx of ") + what, d.cuStreamGetCtx(stream, &its))
        .told("context", of.name_of(its).c_str());
}

void objects(const GreenParts &of) {
    d.cuCtxSetCurrent(of.in_a);
    int device = 77;
    ASK(cudaGetDevice, "", &device).told("device", device);
    cudaStream_t blocking = nullptr, made = nullptr, urgent = nullptr;
    ASK(cudaStreamCreate, "", &blocking);
    ASK(cudaStreamCreateWithFlags, "", &made, cudaStreamNonBlocking);
    ASK(cudaStreamCreateWithPriority, "", &urgent, cudaStreamNonBlocking, -1);
    note_current(of);
    note_green(of, "cudaStreamCreate", blocking);
    note_green(of, "cudaStreamCreateWithFlags", made);
    note_green(of, "cudaStreamCreateWithPriority", urgent);
    note_green(of, "the null stream", nullptr);
    cudaStream_t own = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    int priority = 77;
    unsigned int flags = 77;
    unsigned long long id = 0;
    ASK(cudaStreamGetPriority, " of a's", own, &priority).told("priority", priority);
    ASK(cudaStreamGetFlags, " of a's", own, &flags).told("flags", flags);
    ASK(cudaStreamGetId, " of a's", own, &id);
    ASK(cudaStreamGetDevice, " of a's", own, &device).told("device", device);
    void *p = nullptr, *q = nullptr;
    ASK(cudaMalloc, "", &p, 4096);
    ASK(cudaMallocAsync, "", &q, 4096, own);
    CUcontext owner = nullptr;
    d.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT,
                            reinterpret_cast<std::uintptr_t>(p));
    note("memory", of.name_of(owner).c_str());
    cudaEvent_t event = nullptr;
    ASK(cudaEventCreate, "", &event);
    ASK(cudaMemsetAsync, " in a's", p, 1, 16, own);
    ASK(cudaMemsetAsync, " in the null stream", p, 1, 16, nullptr);
    ASK(cudaMemsetAsync, " in the legacy stream", p, 1, 16, cudaStreamLegacy);
    ASK(cudaMemsetAsync, " in the per-thread stream", p, 1, 16, cudaStreamPerThread);
    ASK(cudaEventRecord, " in a's", event, own);
    ASK(cudaEventRecord, " in the null stream", event, nullptr);
    ASK(cudaStreamWaitEvent, " by a's", own, event, 0);
    ASK(cudaEventSynchronize, "", event);
    void *arguments[2] = {&p, &device};
    void *function = kernel("add");
    note("a kernel", function != nullptr);
    ASK(cudaLaunchKernel, " in a's", function, dim3(1), dim3(1), arguments, 0, own);
    ASK(cudaLaunchKernel, " in the null stream", function, dim3(1), dim3(1), arguments, 0, nullptr);
    ASK(cudaStreamSynchronize, " of a's", own);
    ASK(cudaDeviceSynchronize, "");
    note_current(of);
    std::size_t limit = 0;
    ASK(cudaDeviceSetLimit, "", cudaLimitStackSize, 2048);
    ASK(cudaDeviceGetLimit, "", &limit, cudaLimitStackSize).told("limit", limit);
    ASK(cudaGetDeviceFlags, "", &flags).told("flags", flags);
    ASK(cudaFreeAsync, "", q, own);
    ASK(cudaFree, "", p);
    ASK(cudaEventDestroy, "", event);
    ASK(cudaStreamDestroy, " of a's", own);
    note_current(of);
}

void set_device(const GreenParts &of) {
    d.cuCtxSetCurrent(of.in_a);
    ASK(cudaSetDevice, "", 0);
    note_current(of);
    d.cuCtxSetCurrent(of.in_a);
    ASK(cudaInitDevice, "", 0, 0, 0);
    note_current(of);
    ASK(cudaFree, "(null)", nullptr);
    note_current(of);
    int device = 77;
    ASK(cudaGetDevice, "", &device).told("device", device);
    note_current(of);
}

void reset(const GreenParts &of) {
    d.cuCtxSetCurrent(of.in_a);
    ASK(cudaDeviceReset, "");
    note_current(of);
    void *p = nullptr;
    ASK(cudaMalloc, "", &p, 16);
    note_current(of);
    unsigned int version = 0;
    ASK(cuCtxGetApiVersion, " of a", of.in_a, &version);
}

void ended(const GreenParts &of) {
    d.cuCtxSetCurrent(of.in_a);
    d.cuGreenCtxDestroy(of.a);
    void *p = nullptr;
    int device = 77;
    cudaStream_t stream = nullptr;
    ASK(cudaGetDevice, "", &device).told("device", device);
    ASK(cudaMalloc, "", &p, 16);
    ASK(cudaStreamCreate, "", &stream);
    ASK(cudaDeviceSynchronize, "");
    note_current(of);
    ASK(cudaSetDevice, "", 0);
    note_current(of);
    ASK(cudaMalloc, "", &p, 16);
}

void captured(const GreenParts &of) {
    cudaStream_t own = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    void *p = MAKE(cudaMalloc, 64);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    ASK(cudaStreamBeginCapture, "", own, cudaStreamCaptureModeGlobal);
    ASK(cudaMemsetAsync, "", p, 1, 16, own);
    ASK(cudaStreamEndCapture, "", own, &graph);
    ASK(cudaGraphInstantiate, "", &exec, graph, 0);
    ASK(cudaGraphLaunch, " in a's", exec, own);
    d.cuCtxSetCurrent(of.in_b);
    ASK(cudaGraphLaunch, " in the null stream, b current", exec, nullptr);
    ASK(cudaDeviceSynchronize, ", b current");
}

} // namespace

SECTION_ONCE("green_contexts") {
    with_green("objects", objects);
    with_green("device", set_device);
    with_green("reset", reset);
    with_green("ended", ended);
    with_green("captured", captured);
}

} // namespace record::QUESTIONS::runtime
