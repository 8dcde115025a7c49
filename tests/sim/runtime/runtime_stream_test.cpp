// Streams and events of the runtime.
#include "handles.hpp"

#include <thread>

using namespace sim_test;

namespace {

struct Seen {
    std::atomic<int> calls{0};
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
};

void CUDART_CB note(cudaStream_t stream, cudaError_t status, void *user) {
    auto *seen = static_cast<Seen *>(user);
    seen->stream = stream;
    seen->status = status;
    ++seen->calls;
}

void CUDART_CB count(void *user) {
    ++*static_cast<std::atomic<int> *>(user);
}

} // namespace

TEST_CASE("callbacks and host functions run through the runtime") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream stream;
    Seen seen;
    std::atomic<int> calls{0};
    ok(runtime().cudaStreamAddCallback(stream, note, &seen, 0));
    ok(runtime().cudaLaunchHostFunc(stream, count, &calls));
    ok(runtime().cudaStreamSynchronize(stream));
    CHECK(seen.calls == 1);
    CHECK(seen.stream == stream);
    CHECK(seen.status == cudaSuccess);
    CHECK(calls == 1);
}

TEST_CASE("a runtime stream can be captured into a graph") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream stream;
    const RuntimeMemory memory(64);
    const auto first = [&] {
        return got<unsigned char>(&Runtime::cudaMemcpy, out, memory, 1, cudaMemcpyDefault);
    };
    require_ok(runtime().cudaMemset(memory, 0, 64));
    ok(runtime().cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ok(runtime().cudaMemsetAsync(memory, 7, 64, stream));
    const auto graph = got<cudaGraph_t>(&Runtime::cudaStreamEndCapture, stream, out);
    CHECK(first() == 0); // captured work has not run
    {
        const RuntimeExecutable executable(graph);
        ok(runtime().cudaGraphLaunch(executable, stream));
        ok(runtime().cudaStreamSynchronize(stream));
    }
    CHECK(first() == 7);
    ok(runtime().cudaGraphDestroy(graph));
}

// As on an H200 with driver 580.159.04.
TEST_CASE("cudaFree of null invalidates a global capture of another thread") {
    const RuntimeStream stream;
    for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
        const bool global = mode == cudaStreamCaptureModeGlobal;
        cudaError_t status = cudaSuccess;
        cudaGraph_t graph = nullptr;
        require_ok(runtime().cudaStreamBeginCapture(stream, mode));
        std::thread([&] { status = runtime().cudaFree(nullptr); }).join();
        CHECK(status == (global ? cudaErrorStreamCaptureUnsupported : cudaSuccess));
        CHECK(runtime().cudaStreamEndCapture(stream, &graph) ==
              (global ? cudaErrorStreamCaptureInvalidated : cudaSuccess));
        if (graph != nullptr) {
            ok(runtime().cudaGraphDestroy(graph));
        }
    }
}
