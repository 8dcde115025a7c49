// Errors of enqueued work: what fails with it, which calls report it, and how often.
#include "plan_fault.hpp"
#include "run_order.hpp"

using namespace sim_test;

TEST_CASE("a failure of enqueued work fails its context permanently") {
    start(GENERATE_COPY(from_range(all_modes())));
    const int code = GENERATE(700, 714, 715, 716, 717, 718, 719, 710, 214);
    const auto status = static_cast<CUresult>(code);
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent event = make_event();
    fail_work("cuLaunchHostFunc", code);
    ok(order.launch(stream, 1));
    // The second launch may already fail, and is then not enqueued.
    const CUresult second = order.launch(stream, 2);
    CHECK((second == CUDA_SUCCESS || second == status));
    CHECK(driver().cuStreamSynchronize(stream) == status);
    CHECK(order.ran().empty());
    CUdeviceptr memory = 0;
    check_all(status, {driver().cuStreamSynchronize(stream), driver().cuStreamQuery(stream),
                       driver().cuCtxSynchronize(), driver().cuEventQuery(event),
                       driver().cuEventRecord(event, stream), order.launch(nullptr, 3),
                       driver().cuMemAlloc(&memory, 4), driver().cuTexObjectDestroy(0),
                       driver().cuSurfObjectDestroy(0)});
    CHECK(order.ran().empty());
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("after a launch failure the device gives the process no new context") {
    start("devices=2");
    const auto unavailable = static_cast<CUresult>(46);
    RunOrder order;
    fail_work("cuLaunchHostFunc", 719);
    ok(order.launch(nullptr, 1));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    ok(driver().cuDevicePrimaryCtxReset(0));
    CUcontext context = nullptr;
    check_all(unavailable, {driver().cuDevicePrimaryCtxRetain(&context, 0),
                            driver().cuCtxCreate_v2(&context, 0, 0)});
    ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(driver().cuDevicePrimaryCtxRetain(&context, 0) == unavailable);
    // The other device, which had no context when the launch failed, still works.
    require_ok(
        driver().cuCtxSetCurrent(got(driver().cuDevicePrimaryCtxRetain(&context, 1), context)));
    ok(order.launch(nullptr, 2));
    ok(driver().cuCtxSynchronize());
    CHECK(order.ran() == std::vector{2});
    ok(driver().cuDevicePrimaryCtxRelease(1));
}

TEST_CASE("an error that is not sticky is reported once") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream stream;
    const Event event;
    fail_work("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    ok(order.launch(stream, 1));
    ok(order.launch(stream, 2));
    ok(driver().cuEventRecord(event, stream));
    const int way = GENERATE(0, 1, 2);
    const CUresult status = way == 0   ? driver().cuStreamSynchronize(stream)
                            : way == 1 ? driver().cuEventSynchronize(event)
                                       : driver().cuCtxSynchronize();
    CHECK(status == CUDA_ERROR_OUT_OF_MEMORY);
    ok(driver().cuStreamSynchronize(stream));
    ok(driver().cuCtxSynchronize());
    CHECK(order.ran() == std::vector{2});
}

TEST_CASE("a launch failure ends the waits of primary contexts of other devices") {
    start("devices=2;patience=2000;" + GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUcontext second = retain_primary(1);
    const CUstream one = make_stream();
    require_ok(driver().cuCtxSetCurrent(second));
    const CUstream two = make_stream();
    const CUdeviceptr memory = allocate(4);
    require_ok(driver().cuMemsetD8(memory, 0, 4));
    require_ok(driver().cuStreamWaitValue32_v2(two, memory, 1, CU_STREAM_WAIT_VALUE_EQ));
    require_ok(order.launch(two, 2));

    fail_work("cuLaunchHostFunc", 719);
    require_ok(order.launch(one, 1));
    check_all(CUDA_ERROR_LAUNCH_FAILED, {driver().cuStreamSynchronize(one),
                                         driver().cuStreamSynchronize(two), order.launch(two, 3)});
    CHECK(order.ran().empty());
    ok(driver().cuDevicePrimaryCtxReset(1));
    ok(driver().cuDevicePrimaryCtxReset(0));
}

// Primary contexts were recorded; created ones are assumed to behave alike. A second context of the
// same device was not recorded.
TEST_CASE("a launch failure fails created contexts of other devices, not of its own") {
    start("devices=2");
    RunOrder order;
    const CUcontext first = current();
    const CUcontext near = make_context(0), far = make_context(1);
    require_ok(driver().cuCtxSetCurrent(first));
    fail_work("cuLaunchHostFunc", 719);
    require_ok(order.launch(nullptr, 1));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    require_ok(driver().cuCtxSetCurrent(near));
    ok(driver().cuCtxSynchronize());
    destroy(near);
    require_ok(driver().cuCtxSetCurrent(far));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    destroy(far);
    ok(driver().cuDevicePrimaryCtxReset(0));
}

// 719 is the only failure that was recorded with two devices.
TEST_CASE("an illegal address leaves contexts of other devices usable") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUcontext first = current();
    const CUstream one = make_stream();
    const CUevent event = make_event();
    require_ok(driver().cuCtxSetCurrent(got<CUcontext>(&Driver::cuDevicePrimaryCtxRetain, out, 1)));
    const CUstream two = make_stream();
    require_ok(driver().cuEventRecord(event, one));
    require_ok(driver().cuStreamWaitEvent(two, event, 0));
    require_ok(order.launch(two, 2));
    fail_work("cuLaunchHostFunc", 700);
    require_ok(order.launch(one, 1));
    ok(driver().cuStreamSynchronize(two));
    CHECK(driver().cuStreamSynchronize(one) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(order.ran() == std::vector{2});
    destroy(two);
    require_ok(driver().cuCtxSetCurrent(first));
    ok(driver().cuDevicePrimaryCtxReset(0));
    ok(driver().cuDevicePrimaryCtxRelease(1));
}

TEST_CASE("a failure of a context is reported with its cause") {
    start("mode=adversarial;stall=0");
    const CUstream stream = make_stream(non_blocking);
    std::vector<char> source(64);
    const CUdeviceptr memory = allocate(64);
    require_ok(driver().cuMemHostRegister(source.data(), source.size(), 0));
    require_ok(driver().cuMemcpyDtoDAsync(
        memory, got<CUdeviceptr>(&Driver::cuMemHostGetDevicePointer, out, source.data(), 0), 64,
        stream));
    require_ok(driver().cuMemHostUnregister(source.data()));
    expect_misuse("is released while 1 enqueued operation needs it");
    const std::size_t before = misuses().size();
    CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(misuses().size() == before + 1);
    expect_misuse("cuMemcpyDtoDAsync (operation 1) in stream ");
    ok(driver().cuDevicePrimaryCtxReset(0));
}
