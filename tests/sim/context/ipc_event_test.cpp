// IPC events as one process sees them; two_processes_test.cpp has the rest.
#include "run_order.hpp"

#include <cstring>

using namespace sim_test;

namespace {

constexpr unsigned int interprocess = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

CUevent event_with(unsigned int flags) {
    const CUevent event = make_event(flags);
    return event;
}

} // namespace

TEST_CASE("an interprocess event does not measure time") {
    start();
    CUevent event = nullptr;
    CHECK(d.cuEventCreate(&event, CU_EVENT_INTERPROCESS) == invalid);
    CHECK(d.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_BLOCKING_SYNC) == invalid);
    event = event_with(interprocess);
    CHECK(d.cuEventDestroy(event) == good);
    event = event_with(interprocess | CU_EVENT_BLOCKING_SYNC);
    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("an interprocess event works as any other in its own process") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUevent event = event_with(interprocess);
    const Stream one(non_blocking);
    const Stream two(non_blocking);
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

    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("an interprocess event is waited for in its own context, by nodes of graphs in any") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUevent event = event_with(interprocess);
    CUcontext other = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&other, 0, 0) == good);
    const CUstream stream = make_stream(non_blocking);
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("wait for an interprocess event");
#if CUDA_VERSION >= 12050
    CHECK(d.cuCtxWaitEvent(other, event) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("wait for an interprocess event");
#endif
    CUgraph graph = nullptr;
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == good);
    CHECK(d.cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL) == good);
    CHECK(d.cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL) == good);
    CHECK(d.cuStreamEndCapture(stream, &graph) == good);
    const CUgraphExec exec = instantiate(graph);
    CHECK(d.cuGraphLaunch(exec, stream) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(d.cuGraphExecDestroy(exec) == good);
    CHECK(d.cuGraphDestroy(graph) == good);
    CHECK(d.cuStreamDestroy(stream) == good);
    CHECK(d.cuCtxDestroy(other) == good);
    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("an interprocess event can be recorded more often than its state remembers") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUevent event = event_with(interprocess);
    for (int i = 0; i < 600; ++i) {
        REQUIRE(d.cuEventRecord(event, nullptr) == good);
    }
    CHECK(d.cuEventSynchronize(event) == good);
    CHECK(d.cuEventQuery(event) == good);
    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("only interprocess events export") {
    start();
    CUipcEventHandle handle;
    const CUevent plain = event_with(CU_EVENT_DISABLE_TIMING);
    CHECK(d.cuIpcGetEventHandle(&handle, plain) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuEventDestroy(plain) == good);
    CHECK(d.cuIpcGetEventHandle(&handle, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuIpcGetEventHandle(&handle, plain) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("event");
    const CUevent event = event_with(interprocess);
    CHECK(d.cuIpcGetEventHandle(nullptr, event) == invalid);
    CHECK(d.cuIpcGetEventHandle(&handle, event) == good);
    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("the exporter cannot open its own event") {
    start();
    const CUevent event = event_with(interprocess);
    CUipcEventHandle handle;
    REQUIRE(d.cuIpcGetEventHandle(&handle, event) == good);
    CUevent opened = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(opened != event);
    CHECK(d.cuIpcOpenEventHandle(nullptr, handle) == invalid);
    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("event handles that no exporter wrote are refused") {
    start();
    const CUevent event = event_with(interprocess);
    CUipcEventHandle valid, handle{};
    REQUIRE(d.cuIpcGetEventHandle(&valid, event) == good);
    CUevent opened = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_MAP_FAILED);
    for (std::size_t i = 0; i < sizeof valid; ++i) {
        handle = valid;
        handle.reserved[i] = static_cast<char>(~handle.reserved[i]);
        INFO("byte " << i);
        CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_MAP_FAILED);
    }
    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("IPC events need a current context") {
    start();
    const CUevent event = event_with(interprocess);
    const CUcontext context = current();
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    CUipcEventHandle handle{};
    CUevent opened = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(d.cuCtxSetCurrent(context) == good);
    CHECK(d.cuEventDestroy(event) == good);
}
