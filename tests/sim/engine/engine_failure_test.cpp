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
    CHECK(order.launch(stream, 1) == good);
    // The second launch may already fail, and is then not enqueued.
    const CUresult second = order.launch(stream, 2);
    CHECK((second == good || second == status));
    CHECK(d.cuStreamSynchronize(stream) == status);
    CHECK(order.ran().empty());
    CUdeviceptr memory = 0;
    check_all(status,
              {d.cuStreamSynchronize(stream), d.cuStreamQuery(stream), d.cuCtxSynchronize(),
               d.cuEventQuery(event), d.cuEventRecord(event, stream), order.launch(nullptr, 3),
               d.cuMemAlloc(&memory, 4), d.cuTexObjectDestroy(0), d.cuSurfObjectDestroy(0)});
    CHECK(order.ran().empty());
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("after a launch failure the device gives the process no new context") {
    start("devices=2");
    const auto unavailable = static_cast<CUresult>(46);
    RunOrder order;
    fail_work("cuLaunchHostFunc", 719);
    CHECK(order.launch(nullptr, 1) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CUcontext context = nullptr;
    check_all(unavailable,
              {d.cuDevicePrimaryCtxRetain(&context, 0), d.cuCtxCreate_v2(&context, 0, 0)});
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(d.cuDevicePrimaryCtxRetain(&context, 0) == unavailable);
    // The other device, which had no context when the launch failed, still works.
    REQUIRE(d.cuCtxSetCurrent(got(d.cuDevicePrimaryCtxRetain(&context, 1), context)) == good);
    CHECK(order.launch(nullptr, 2) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(order.ran() == std::vector{2});
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
}

TEST_CASE("an error that is not sticky is reported once") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream stream;
    const Event event;
    fail_work("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(order.launch(stream, 1) == good);
    CHECK(order.launch(stream, 2) == good);
    CHECK(d.cuEventRecord(event, stream) == good);
    const int way = GENERATE(0, 1, 2);
    const CUresult told = way == 0   ? d.cuStreamSynchronize(stream)
                          : way == 1 ? d.cuEventSynchronize(event)
                                     : d.cuCtxSynchronize();
    CHECK(told == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(order.ran() == std::vector{2});
}

// Recorded for primary contexts, with and without peer access.
TEST_CASE("a launch failure also fails primary contexts of other devices") {
    start("devices=2;patience=2000;" + GENERATE_COPY(from_range(all_modes())));
    const bool peers = GENERATE(false, true);
    RunOrder order;
    const CUcontext second = retain_primary(1);
    REQUIRE(current() != second);
    if (peers) {
        REQUIRE(d.cuCtxEnablePeerAccess(second, 0) == good);
    }
    const CUstream one = make_stream();
    REQUIRE(d.cuCtxSetCurrent(second) == good);
    const CUstream two = make_stream();
    const CUdeviceptr memory = allocate(4);
    REQUIRE(d.cuMemsetD8(memory, 0, 4) == good);
    REQUIRE(d.cuStreamWaitValue32_v2(two, memory, 1, CU_STREAM_WAIT_VALUE_EQ) == good);
    REQUIRE(order.launch(two, 2) == good);

    fail_work("cuLaunchHostFunc", 719);
    REQUIRE(order.launch(one, 1) == good);
    CUdeviceptr more = 0;
    check_all(CUDA_ERROR_LAUNCH_FAILED,
              {d.cuStreamSynchronize(one), d.cuStreamSynchronize(two), d.cuStreamQuery(two),
               d.cuCtxSynchronize(), d.cuMemAlloc(&more, 4), d.cuMemsetD8(memory, 1, 4),
               order.launch(two, 3)});
    CHECK(order.ran().empty());
    CHECK(d.cuDevicePrimaryCtxReset(1) == good);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

// Primary contexts were recorded; created ones are assumed to behave alike. A second context of the
// same device was not recorded.
TEST_CASE("a launch failure fails created contexts of other devices, not of its own") {
    start("devices=2");
    RunOrder order;
    const CUcontext first = current();
    const CUcontext near = make_context(0), far = make_context(1);
    REQUIRE(d.cuCtxSetCurrent(first) == good);
    fail_work("cuLaunchHostFunc", 719);
    REQUIRE(order.launch(nullptr, 1) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    REQUIRE(d.cuCtxSetCurrent(near) == good);
    CHECK(d.cuCtxSynchronize() == good);
    destroy(near);
    REQUIRE(d.cuCtxSetCurrent(far) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    destroy(far);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

// 719 is the only failure that was recorded with two devices.
TEST_CASE("an illegal address leaves contexts of other devices usable") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUcontext first = current();
    const CUstream one = make_stream();
    const CUevent event = make_event();
    REQUIRE(d.cuCtxSetCurrent(got<CUcontext>(&Driver::cuDevicePrimaryCtxRetain, out, 1)) == good);
    const CUstream two = make_stream();
    REQUIRE(d.cuEventRecord(event, one) == good);
    REQUIRE(d.cuStreamWaitEvent(two, event, 0) == good);
    REQUIRE(order.launch(two, 2) == good);
    fail_work("cuLaunchHostFunc", 700);
    REQUIRE(order.launch(one, 1) == good);
    CHECK(d.cuStreamSynchronize(two) == good);
    CHECK(d.cuStreamSynchronize(one) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(order.ran() == std::vector{2});
    destroy(two);
    REQUIRE(d.cuCtxSetCurrent(first) == good);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
}

TEST_CASE("a failure of a context is reported with its cause") {
    start("mode=adversarial;stall=0");
    const CUstream stream = make_stream(non_blocking);
    std::vector<char> source(64);
    const CUdeviceptr memory = allocate(64);
    REQUIRE(d.cuMemHostRegister(source.data(), source.size(), 0) == good);
    REQUIRE(d.cuMemcpyDtoDAsync(
                memory, got<CUdeviceptr>(&Driver::cuMemHostGetDevicePointer, out, source.data(), 0),
                64, stream) == good);
    REQUIRE(d.cuMemHostUnregister(source.data()) == good);
    expect_misuse("is released while 1 enqueued operation needs it");
    const std::size_t before = misuses().size();
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(misuses().size() == before + 1);
    expect_misuse("cuMemcpyDtoDAsync (operation 1) in stream ");
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}
