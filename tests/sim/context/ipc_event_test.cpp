// IPC events as one process sees them; two_processes_test.cpp has the rest.
#include "run_order.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <cstring>

using namespace sim_test;

namespace {

constexpr unsigned int interprocess = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

CUevent event_with(unsigned int flags) {
    CUevent event = nullptr;
    REQUIRE(cushim::driver().cuEventCreate(&event, flags) == CUDA_SUCCESS);
    return event;
}

} // namespace

TEST_CASE("an interprocess event does not measure time", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    CUevent event = nullptr;
    CHECK(d.cuEventCreate(&event, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_BLOCKING_SYNC) ==
          CUDA_ERROR_INVALID_VALUE);
    event = event_with(interprocess);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
    event = event_with(interprocess | CU_EVENT_BLOCKING_SYNC);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("an interprocess event works as any other in its own process", "[ipc]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    const CUevent event = event_with(interprocess);
    CUstream one = nullptr, two = nullptr;
    REQUIRE(d.cuStreamCreate(&one, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamCreate(&two, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(d.cuMemAlloc(&memory, 4) == CUDA_SUCCESS);
    CHECK(d.cuEventQuery(event) == CUDA_SUCCESS); // never recorded
    CHECK(d.cuEventSynchronize(event) == CUDA_SUCCESS);

    CHECK(d.cuMemsetD32Async(memory, 1, 1, one) == CUDA_SUCCESS);
    CHECK(d.cuEventRecord(event, one) == CUDA_SUCCESS);
    CHECK(d.cuStreamWaitEvent(two, event, 0) == CUDA_SUCCESS);
    CHECK(d.cuMemsetD32Async(memory, 2, 1, two) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(two) == CUDA_SUCCESS);
    CHECK(d.cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(d.cuEventSynchronize(event) == CUDA_SUCCESS);
    unsigned int value = 0;
    CHECK(d.cuMemcpyDtoH(&value, memory, 4) == CUDA_SUCCESS);
    CHECK(value == 2);

    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(d.cuStreamDestroy(one) == CUDA_SUCCESS);
    CHECK(d.cuStreamDestroy(two) == CUDA_SUCCESS);
}

TEST_CASE("an interprocess event is waited for in its own context, by nodes of graphs in any",
          "[ipc]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    const CUevent event = event_with(interprocess);
    CUcontext other = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&other, 0, 0) == CUDA_SUCCESS);
    CUstream stream = nullptr;
    REQUIRE(d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("wait for an event for several processes");
#if CUDA_VERSION >= 12050
    CHECK(d.cuCtxWaitEvent(other, event) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("wait for an event for several processes");
#endif
    CUgraph graph = nullptr;
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK(d.cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL) == CUDA_SUCCESS);
    CHECK(d.cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL) == CUDA_SUCCESS);
    CHECK(d.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    REQUIRE(d.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
    CHECK(d.cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(d.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(d.cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(d.cuStreamDestroy(stream) == CUDA_SUCCESS);
    CHECK(d.cuCtxDestroy(other) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("an interprocess event can be recorded more often than its state remembers", "[ipc]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    const CUevent event = event_with(interprocess);
    for (int i = 0; i < 600; ++i) {
        REQUIRE(d.cuEventRecord(event, nullptr) == CUDA_SUCCESS);
    }
    CHECK(d.cuEventSynchronize(event) == CUDA_SUCCESS);
    CHECK(d.cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("only interprocess events export", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    CUipcEventHandle handle;
    const CUevent plain = event_with(CU_EVENT_DISABLE_TIMING);
    CHECK(d.cuIpcGetEventHandle(&handle, plain) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuEventDestroy(plain) == CUDA_SUCCESS);
    CHECK(d.cuIpcGetEventHandle(&handle, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuIpcGetEventHandle(&handle, plain) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("event");
    const CUevent event = event_with(interprocess);
    CHECK(d.cuIpcGetEventHandle(nullptr, event) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuIpcGetEventHandle(&handle, event) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("the exporter cannot open its own event", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    const CUevent event = event_with(interprocess);
    CUipcEventHandle handle;
    REQUIRE(d.cuIpcGetEventHandle(&handle, event) == CUDA_SUCCESS);
    CUevent opened = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(opened != event);
    CHECK(d.cuIpcOpenEventHandle(nullptr, handle) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("event handles that no exporter wrote are refused", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    const CUevent event = event_with(interprocess);
    CUipcEventHandle good, handle{};
    REQUIRE(d.cuIpcGetEventHandle(&good, event) == CUDA_SUCCESS);
    CUevent opened = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_MAP_FAILED);
    for (std::size_t i = 0; i < sizeof good; ++i) {
        handle = good;
        handle.reserved[i] = static_cast<char>(~handle.reserved[i]);
        INFO("byte " << i);
        CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_MAP_FAILED);
    }
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("IPC events need a current context", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    const CUevent event = event_with(interprocess);
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    CUipcEventHandle handle{};
    CUevent opened = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}
