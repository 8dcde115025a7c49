// Streams and events of the runtime.
#include "handles.hpp"

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

TEST_CASE("flags and priority of a runtime stream are those of the driver") {
    cudaStream_t stream = nullptr;
    REQUIRE(r.cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1) == cudaSuccess);
    int priority = 0;
    CHECK(got<unsigned int>(&Runtime::cudaStreamGetFlags, stream, out) == cudaStreamNonBlocking);
    CHECK(r.cudaStreamGetPriority(stream, &priority) == cudaSuccess);
    CHECK(priority == got<int>(&Driver::cuStreamGetPriority, stream, out));
    CHECK(priority == -1);
    CHECK(r.cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(r.cudaStreamCreate(nullptr) == cudaErrorInvalidValue);
    CHECK(r.cudaStreamCreateWithFlags(&stream, 0x10) == cudaErrorInvalidValue);
    CHECK(r.cudaStreamQuery(stream) == cudaErrorInvalidResourceHandle);
    expect_misuse("stream");
}

TEST_CASE("attributes of a runtime stream are those of the driver") {
    const RuntimeStream stream, other;
    cudaStreamAttrValue value{};
    value.syncPolicy = cudaSyncPolicyYield;
    CHECK(r.cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value) ==
          cudaSuccess);
    CHECK(r.cudaStreamCopyAttributes(other, stream) == cudaSuccess);
    CHECK(got<cudaStreamAttrValue>(&Runtime::cudaStreamGetAttribute, other,
                                   cudaStreamAttributeSynchronizationPolicy, out)
              .syncPolicy == cudaSyncPolicyYield);
    CHECK(got<CUstreamAttrValue>(&Driver::cuStreamGetAttribute, stream,
                                 CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, out)
              .syncPolicy == CU_SYNC_POLICY_YIELD);
}

TEST_CASE("callbacks and host functions run through the runtime") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream stream;
    Seen seen;
    std::atomic<int> calls{0};
    CHECK(r.cudaStreamAddCallback(stream, note, &seen, 0) == cudaSuccess);
    CHECK(r.cudaLaunchHostFunc(stream, count, &calls) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(seen.calls == 1);
    CHECK(seen.stream == stream);
    CHECK(seen.status == cudaSuccess);
    CHECK(calls == 1);
    check_all(cudaErrorInvalidValue, {r.cudaStreamAddCallback(stream, nullptr, &seen, 0),
                                      r.cudaStreamAddCallback(stream, note, &seen, 1),
                                      r.cudaLaunchHostFunc(stream, nullptr, nullptr)});
}

TEST_CASE("a host function must not call the runtime except for cudaGetDeviceCount") {
    start("devices=3");
    struct Answers {
        cudaError_t allocated = cudaSuccess;
        int devices = 0;
    } answers;
    const auto ask = [](void *user) {
        void *memory = nullptr;
        auto &its = *static_cast<Answers *>(user);
        its.allocated = r.cudaMalloc(&memory, 16);
        CHECK(r.cudaGetDeviceCount(&its.devices) == cudaSuccess);
    };
    CHECK(r.cudaLaunchHostFunc(nullptr, ask, &answers) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(answers.allocated == cudaErrorNotPermitted);
    CHECK(answers.devices == 3);
}

TEST_CASE("events order runtime streams and measure time") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
    const RuntimeEvent begin, end(cudaEventBlockingSync);
    const RuntimeMemory memory(1024);
    CHECK(r.cudaEventRecord(begin, first) == cudaSuccess);
    CHECK(r.cudaMemsetAsync(memory, 1, 1024, first) == cudaSuccess);
    CHECK(r.cudaEventRecordWithFlags(end, first, cudaEventRecordDefault) == cudaSuccess);
    CHECK(r.cudaStreamWaitEvent(second, end, 0) == cudaSuccess);
    CHECK(r.cudaMemsetAsync(memory, 2, 1024, second) == cudaSuccess);
    CHECK(r.cudaEventSynchronize(end) == cudaSuccess);
    CHECK(r.cudaEventQuery(end) == cudaSuccess);
    CHECK(got<float>(&Runtime::cudaEventElapsedTime, out, begin, end) >= 0);
    CHECK(r.cudaStreamSynchronize(second) == cudaSuccess);
    CHECK(got<unsigned char>(&Runtime::cudaMemcpy, out, memory, 1, cudaMemcpyDefault) == 2);
}

TEST_CASE("arguments of runtime events are checked") {
    cudaEvent_t event = nullptr;
    CHECK(r.cudaEventCreate(nullptr) == cudaErrorInvalidValue);
    CHECK(r.cudaEventCreateWithFlags(&event, 0x100) == cudaErrorInvalidValue);
    REQUIRE(r.cudaEventCreate(&event) == cudaSuccess);
    float milliseconds = 0;
    CHECK(r.cudaEventElapsedTime(&milliseconds, event, event) == cudaErrorInvalidResourceHandle);
    CHECK(r.cudaEventDestroy(event) == cudaSuccess);
    CHECK(r.cudaEventQuery(event) == cudaErrorInvalidResourceHandle);
    expect_misuse("event");
    CHECK(r.cudaEventDestroy(nullptr) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("a runtime stream can be captured into a graph") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream stream;
    const RuntimeMemory memory(64);
    REQUIRE(r.cudaMemset(memory, 0, 64) == cudaSuccess);
    CHECK(r.cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CHECK(got(r.cudaStreamIsCapturing(stream, &status), status) == cudaStreamCaptureStatusActive);
    CHECK(r.cudaMemsetAsync(memory, 7, 64, stream) == cudaSuccess);
    unsigned long long id = 0;
#if CUDART_VERSION >= 13000
    cudaGraph_t so_far = nullptr;
    const cudaGraphNode_t *last = nullptr;
    size_t count = 0;
    CHECK(r.cudaStreamGetCaptureInfo(stream, &status, &id, &so_far, &last, nullptr, &count) ==
          cudaSuccess);
    CHECK(so_far != nullptr);
    CHECK(count == 1);
#else
    CHECK(r.cudaStreamGetCaptureInfo(stream, &status, &id) == cudaSuccess);
#endif
    CHECK(id != 0);
    cudaGraph_t graph = nullptr;
    REQUIRE(got(r.cudaStreamEndCapture(stream, &graph), graph) != nullptr);
    CHECK(got<size_t>(&Runtime::cudaGraphGetNodes, graph, nullptr, out) == 1);
    CHECK(got<unsigned char>(&Runtime::cudaMemcpy, out, memory, 1, cudaMemcpyDefault) ==
          0); // captured work has not run
    const cudaGraphExec_t executable = instantiate_by_runtime(graph);
    CHECK(r.cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(got<unsigned char>(&Runtime::cudaMemcpy, out, memory, 1, cudaMemcpyDefault) == 7);
    destroy_by_runtime(executable);
    CHECK(r.cudaGraphDestroy(graph) == cudaSuccess);
    CHECK(r.cudaStreamEndCapture(stream, &graph) == cudaErrorIllegalState);
    CHECK(r.cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) ==
          cudaErrorStreamCaptureUnsupported);
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CHECK(got(r.cudaThreadExchangeStreamCaptureMode(&mode), mode) == cudaStreamCaptureModeGlobal);
    CHECK(r.cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
}

TEST_CASE("an unsafe runtime call invalidates a capture") {
    const RuntimeStream stream;
    REQUIRE(r.cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    void *memory = nullptr;
    CHECK(r.cudaMalloc(&memory, 64) == cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = reinterpret_cast<cudaGraph_t>(&memory);
    CHECK(r.cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
}
