// IPC events within one process; two_processes_event_test.cpp has two.
#include "run_order.hpp"

using namespace sim_test;

namespace {

constexpr unsigned int interprocess = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

} // namespace

TEST_CASE("an interprocess event requires CU_EVENT_DISABLE_TIMING") {
    CUevent event = nullptr;
    CHECK(d.cuEventCreate(&event, CU_EVENT_INTERPROCESS) == invalid);
    CHECK(d.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_BLOCKING_SYNC) == invalid);
    const Event spinning(interprocess), blocking(interprocess | CU_EVENT_BLOCKING_SYNC);
}

TEST_CASE("an interprocess event works like any other event in its own process") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Event event(interprocess);
    const Stream one(non_blocking), two(non_blocking);
    const DeviceMemory memory(4);
    CHECK(d.cuEventQuery(event) == good); // never recorded
    CHECK(d.cuEventSynchronize(event) == good);

    CHECK(d.cuMemsetD32Async(memory, 1, 1, one) == good);
    CHECK(d.cuEventRecord(event, one) == good);
    CHECK(d.cuStreamWaitEvent(two, event, 0) == good);
    CHECK(d.cuMemsetD32Async(memory, 2, 1, two) == good);
    CHECK(d.cuStreamSynchronize(two) == good);
    CHECK(d.cuEventQuery(event) == good);
    CHECK(d.cuEventSynchronize(event) == good);
    CHECK(got<unsigned int>(&Driver::cuMemcpyDtoH, out, memory, 4) == 2);
}

TEST_CASE("streams of another context wait for an interprocess event only by graph nodes") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Event event(interprocess);
    const CUcontext other = make_context();
    const CUstream stream = make_stream(non_blocking);
    constexpr char elsewhere[] = "wait for an interprocess event";
    check_misuse(d.cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_INVALID_HANDLE, elsewhere);
#if CUDA_VERSION >= 12050
    check_misuse(d.cuCtxWaitEvent(other, event), CUDA_ERROR_INVALID_HANDLE, elsewhere);
#endif
    CUgraph graph = nullptr;
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == good);
    CHECK(d.cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL) == good);
    CHECK(d.cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL) == good);
    CHECK(d.cuStreamEndCapture(stream, &graph) == good);
    {
        const Graph captured(graph);
        const Executable exec(captured);
        CHECK(d.cuGraphLaunch(exec, stream) == good);
        CHECK(d.cuStreamSynchronize(stream) == good);
    }
    destroy(stream);
    destroy(other);
}

TEST_CASE("an interprocess event can be recorded hundreds of times") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Event event(interprocess);
    for (int i = 0; i < 600; ++i) {
        REQUIRE(d.cuEventRecord(event, nullptr) == good);
    }
    CHECK(d.cuEventSynchronize(event) == good);
    CHECK(d.cuEventQuery(event) == good);
}

TEST_CASE("only an interprocess event can be exported") {
    CUipcEventHandle handle;
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    const CUevent plain = make_event(CU_EVENT_DISABLE_TIMING);
    CHECK(d.cuIpcGetEventHandle(&handle, plain) == refused);
    destroy(plain);
    CHECK(d.cuIpcGetEventHandle(&handle, nullptr) == refused);
    check_misuse(d.cuIpcGetEventHandle(&handle, plain), refused, "event");
    const Event event(interprocess);
    CHECK(d.cuIpcGetEventHandle(nullptr, event) == invalid);
    CHECK(d.cuIpcGetEventHandle(&handle, event) == good);
}

TEST_CASE("an event handle is rejected by its own process and if it was changed") {
    const Event event(interprocess);
    CUipcEventHandle valid, handle{};
    REQUIRE(d.cuIpcGetEventHandle(&valid, event) == good);
    CUevent opened = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&opened, valid) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(opened != event.get());
    CHECK(d.cuIpcOpenEventHandle(nullptr, valid) == invalid);
    CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_MAP_FAILED);
    for (std::size_t i = 0; i < sizeof valid; ++i) {
        handle = valid;
        handle.reserved[i] = static_cast<char>(~handle.reserved[i]);
        INFO("byte " << i);
        CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_MAP_FAILED);
    }
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    CHECK(d.cuIpcOpenEventHandle(&opened, {}) == CUDA_ERROR_INVALID_CONTEXT);
}
