// Streams that are destroyed during a capture, the end of captures into a given graph, and calls of
// other threads and contexts during a capture.
#include "../../runtime_questions.hpp"

#include <functional>
#include <thread>

namespace record::QUESTIONS {

namespace {

constexpr CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED};
constexpr const char *mode_names[] = {"global", "thread-local", "relaxed"};

// Streams that capture, where `b` joined the capture that began in `a`.
struct Joined {
    CUstream a = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUstream b = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUstream c = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUevent fork = MAKE(cuEventCreate, CU_EVENT_DISABLE_TIMING);
    CUevent join = MAKE(cuEventCreate, CU_EVENT_DISABLE_TIMING);
    CUdeviceptr p = MAKE(cuMemAlloc, 64);

    explicit Joined(CUstreamCaptureMode mode) {
        d.cuStreamBeginCapture(a, mode);
        work(a);
        order(a, b, fork);
    }
    void work(CUstream s) const { d.cuMemsetD8Async(p, 1, 64, s); }
    static void order(CUstream first, CUstream then, CUevent by) {
        d.cuEventRecord(by, first);
        d.cuStreamWaitEvent(then, by, 0);
    }
    void end() const {
        CUstreamCaptureStatus status{};
        CUgraph graph = nullptr;
        std::size_t count = 77;
        ASK(cuStreamIsCapturing, "", a, &status).note("status", status);
        ASK(cuStreamEndCapture, "", a, &graph);
        if (graph != nullptr) {
            d.cuGraphGetNodes(graph, nullptr, &count);
            note("nodes", count);
        }
        ASK(cuCtxSynchronize, "");
    }
};

void in_all_modes(const char *what, const std::function<void(CUstreamCaptureMode)> &body) {
    for (const CUstreamCaptureMode mode : modes) {
        title = std::string(what) + ", " + mode_names[mode] + ": ";
        body(mode);
    }
    title.clear();
}

// A call during a capture, by the capturing thread and by another one.
void during(const std::string &what, CUcontext in, const std::function<int()> &call) {
    for (const CUstreamCaptureMode mode : modes) {
        for (const bool own : {true, false}) {
            const CUstream s = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
            CUgraph graph = nullptr;
            int status = -1;
            const auto make = [&] {
                d.cuCtxPushCurrent(in);
                status = call();
                d.cuCtxPopCurrent(nullptr);
            };
            d.cuStreamBeginCapture(s, mode);
            if (own) {
                make();
            } else {
                std::thread(make).join();
            }
            title = what + ", " + mode_names[mode] + (own ? "" : " of another thread") + ": ";
            ask("call", status);
            ask("end", d.cuStreamEndCapture(s, &graph));
        }
    }
    title.clear();
}

} // namespace

SECTION("destroyed_during_captures", start) {
    in_all_modes("joined back", [](CUstreamCaptureMode mode) {
        const Joined s(mode);
        s.work(s.b);
        Joined::order(s.b, s.a, s.join);
        ASK(cuStreamDestroy, "", s.b);
        s.end();
    });
    in_all_modes("joined back without work", [](CUstreamCaptureMode mode) {
        const Joined s(mode);
        Joined::order(s.b, s.a, s.join);
        ASK(cuStreamDestroy, "", s.b);
        s.end();
    });
    in_all_modes("without work", [](CUstreamCaptureMode mode) {
        const Joined s(mode);
        ASK(cuStreamDestroy, "", s.b);
        s.end();
    });
    in_all_modes("not joined back", [](CUstreamCaptureMode mode) {
        const Joined s(mode);
        s.work(s.b);
        ASK(cuStreamDestroy, "", s.b);
        s.end();
    });
    in_all_modes("recorded, and joined back after it", [](CUstreamCaptureMode mode) {
        const Joined s(mode);
        s.work(s.b);
        d.cuEventRecord(s.join, s.b);
        ASK(cuStreamDestroy, "", s.b);
        ASK(cuStreamWaitEvent, "", s.a, s.join, 0);
        s.end();
    });
    in_all_modes("work after the join", [](CUstreamCaptureMode mode) {
        const Joined s(mode);
        s.work(s.b);
        Joined::order(s.b, s.a, s.join);
        s.work(s.b);
        ASK(cuStreamDestroy, "", s.b);
        s.end();
    });
    in_all_modes("joined back by a third stream", [](CUstreamCaptureMode mode) {
        const Joined s(mode);
        s.work(s.b);
        Joined::order(s.b, s.c, s.join);
        s.work(s.c);
        ASK(cuStreamDestroy, "", s.b);
        Joined::order(s.c, s.a, s.join);
        ASK(cuStreamDestroy, " of the third", s.c);
        s.end();
    });
    in_all_modes("the first stream", [](CUstreamCaptureMode mode) {
        const Joined s(mode);
        CUstreamCaptureStatus status{};
        s.work(s.b);
        ASK(cuStreamDestroy, "", s.a);
        ASK(cuStreamIsCapturing, " of the other", s.b, &status).note("status", status);
        ASK(cuMemsetD8Async, " in the other", s.p, 1, 64, s.b);
        ASK(cuCtxSynchronize, "");
        ASK(cuStreamDestroy, " of the other", s.b);
    });
}

SECTION("captures_into_graphs", start) {
    const CUstream s = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = MAKE(cuMemAlloc, 64);
    CUgraph graph = MAKE(cuGraphCreate, 0), made = nullptr;
    CUstreamCaptureStatus status{};
    std::size_t count = 77;
    d.cuStreamBeginCaptureToGraph(s, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
    d.cuMemsetD8Async(p, 1, 64, s);
    ASK(cuStreamEndCapture, ", without an output", s, nullptr);
    ASK(cuStreamIsCapturing, "", s, &status).note("status", status);
    ASK(cuGraphGetNodes, "", graph, nullptr, &count).note("nodes", count);
    d.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ASK(cuStreamEndCapture, " of a new graph, without an output", s, nullptr);
    ASK(cuStreamIsCapturing, "", s, &status).note("status", status);
    ASK(cuStreamEndCapture, " again", s, &made);
    d.cuStreamBeginCaptureToGraph(s, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ASK(cudaStreamEndCapture, ", without an output", s, nullptr);
}

// A capture of the primary context.
SECTION("captures_beside_contexts", start) {
    CUcontext other = nullptr;
    d.cuCtxCreate(&other, nullptr, 0, 0);
    d.cuCtxSetCurrent(context());
    for (const bool same : {true, false}) {
        const CUcontext in = same ? context() : other;
        const std::string where = same ? "" : " in another context";
        during("cuCtxSynchronize" + where, in, [] { return d.cuCtxSynchronize(); });
        during("cuMemAlloc" + where, in, [] {
            CUdeviceptr p = 0;
            return d.cuMemAlloc(&p, 64);
        });
        during("cuMemFree(0)" + where, in, [] { return d.cuMemFree(0); });
    }
}

// Calls that do nothing.
SECTION("captures_beside_nothing", runtime::begin) {
    const CUcontext in = MAKE(cuCtxGetCurrent);
    void *p = nullptr;
    during("cuMemFree(0)", in, [] { return d.cuMemFree(0); });
    during("cuMemFreeHost(null)", in, [] { return d.cuMemFreeHost(nullptr); });
    during("cuMemAlloc of 0", in, [&] {
        CUdeviceptr made = 0;
        return d.cuMemAlloc(&made, 0);
    });
    during("cuMemAlloc without an output", in, [] { return d.cuMemAlloc(nullptr, 64); });
    during("cudaFree(null)", in, [] { return r.cudaFree(nullptr); });
    during("cudaFreeHost(null)", in, [] { return r.cudaFreeHost(nullptr); });
    during("cudaFreeArray(null)", in, [] { return r.cudaFreeArray(nullptr); });
    during("cudaFreeMipmappedArray(null)", in, [] { return r.cudaFreeMipmappedArray(nullptr); });
    during("cudaMalloc of 0", in, [&] { return r.cudaMalloc(&p, 0); });
    during("cudaMallocHost of 0", in, [&] { return r.cudaMallocHost(&p, 0); });
    during("cudaMalloc without an output", in, [] { return r.cudaMalloc(nullptr, 64); });
    during("cudaFree of no memory", in, [] { return r.cudaFree(reinterpret_cast<void *>(64)); });
    during("cudaHostUnregister of no memory", in,
           [] { return r.cudaHostUnregister(reinterpret_cast<void *>(64)); });
}

} // namespace record::QUESTIONS
