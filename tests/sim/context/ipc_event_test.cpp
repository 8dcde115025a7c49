// IPC events within one process; two_processes_event_test.cpp has two.
#include "run_order.hpp"

using namespace sim_test;

namespace {

constexpr unsigned int interprocess = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

} // namespace

TEST_CASE("an interprocess event works like any other event in its own process") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Event event(interprocess);
    const Stream one(non_blocking), two(non_blocking);
    const DeviceMemory memory(4);
    ok(driver().cuEventQuery(event)); // never recorded
    ok(driver().cuEventSynchronize(event));

    ok(driver().cuMemsetD32Async(memory, 1, 1, one));
    ok(driver().cuEventRecord(event, one));
    ok(driver().cuStreamWaitEvent(two, event, 0));
    ok(driver().cuMemsetD32Async(memory, 2, 1, two));
    ok(driver().cuStreamSynchronize(two));
    ok(driver().cuEventQuery(event));
    ok(driver().cuEventSynchronize(event));
    CHECK(got<unsigned int>(&Driver::cuMemcpyDtoH, out, memory, 4) == 2);
}

TEST_CASE("streams of another context wait for an interprocess event only by graph nodes") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Event event(interprocess);
    const CUcontext other = make_context();
    const CUstream stream = make_stream(non_blocking);
    constexpr char elsewhere[] = "wait for an interprocess event";
    check_misuse(driver().cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_INVALID_HANDLE,
                 elsewhere);
#if CUDA_VERSION >= 12050
    check_misuse(driver().cuCtxWaitEvent(other, event), CUDA_ERROR_INVALID_HANDLE, elsewhere);
#endif
    require_ok(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(driver().cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    ok(driver().cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    const auto graph = got<CUgraph>(&Driver::cuStreamEndCapture, stream, out);
    {
        const Graph captured(graph);
        const Executable exec(captured);
        ok(driver().cuGraphLaunch(exec, stream));
        ok(driver().cuStreamSynchronize(stream));
    }
    destroy(stream);
    destroy(other);
}

TEST_CASE("an interprocess event can be recorded hundreds of times") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Event event(interprocess);
    for (int i = 0; i < 600; ++i) {
        require_ok(driver().cuEventRecord(event, nullptr));
    }
    ok(driver().cuEventSynchronize(event));
    ok(driver().cuEventQuery(event));
}

TEST_CASE("an event handle that was changed is rejected") {
    const Event event(interprocess);
    const auto valid = got<CUipcEventHandle>(&Driver::cuIpcGetEventHandle, out, event);
    CUevent opened = nullptr;
    for (std::size_t i = 0; i < sizeof valid; ++i) {
        CUipcEventHandle handle = valid;
        handle.reserved[i] = static_cast<char>(~handle.reserved[i]);
        INFO("byte " << i);
        CHECK(driver().cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_MAP_FAILED);
    }
}
