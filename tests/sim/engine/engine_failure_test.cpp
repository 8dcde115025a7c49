// Errors of queued work: what fails with it, who is told, and how often.
#include "plan_fault.hpp"
#include "run_order.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <vector>

using namespace sim_test;

TEST_CASE("a fault of queued work makes its context fail for good", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const int code = GENERATE(700, 714, 715, 716, 717, 718, 719, 710, 214);
    const auto status = static_cast<CUresult>(code);
    const auto &d = cushim::driver();
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent event = make_event();
    fail_work("cuLaunchHostFunc", code);
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    // The second may already hear of it: then it is not queued.
    const CUresult second = order.launch(stream, 2);
    CHECK((second == CUDA_SUCCESS || second == status));
    CHECK(d.cuStreamSynchronize(stream) == status);
    CHECK(order.ran().empty());
    CHECK(d.cuStreamSynchronize(stream) == status);
    CHECK(d.cuStreamQuery(stream) == status);
    CHECK(d.cuCtxSynchronize() == status);
    CHECK(d.cuEventQuery(event) == status);
    CHECK(d.cuEventRecord(event, stream) == status);
    CHECK(order.launch(nullptr, 3) == status);
    CUdeviceptr memory = 0;
    CHECK(d.cuMemAlloc(&memory, 4) == status);
    CHECK(d.cuTexObjectDestroy(0) == status);
    CHECK(d.cuSurfObjectDestroy(0) == status);
    CHECK(order.ran().empty());
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}

TEST_CASE("a device on which a context failed gives the process no other", "[engine]") {
    start("devices=2");
    const auto &d = cushim::driver();
    const auto unavailable = static_cast<CUresult>(46);
    RunOrder order;
    fail_work("cuLaunchHostFunc", 719);
    CHECK(order.launch(nullptr, 1) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    CHECK(d.cuDevicePrimaryCtxRetain(&context, 0) == unavailable);
    CHECK(d.cuCtxCreate_v2(&context, 0, 0) == unavailable);
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxRetain(&context, 0) == unavailable);
    // The other one, which had no context then, works.
    REQUIRE(d.cuDevicePrimaryCtxRetain(&context, 1) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(order.launch(nullptr, 2) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{2});
    CHECK(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
}

TEST_CASE("an error that is not sticky is told once", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent event = make_event();
    fail_work("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 2) == CUDA_SUCCESS);
    CHECK(d.cuEventRecord(event, stream) == CUDA_SUCCESS);
    switch (GENERATE(0, 1, 2)) {
    case 0:
        CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_OUT_OF_MEMORY);
        break;
    case 1:
        CHECK(d.cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY);
        break;
    default:
        CHECK(d.cuCtxSynchronize() == CUDA_ERROR_OUT_OF_MEMORY);
    }
    CHECK(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{2});
    destroy(event);
    destroy(stream);
}

// As recorded of primary contexts, be they peers or not.
TEST_CASE("a launch failure fails the contexts of the other devices, too", "[engine]") {
    start("devices=2;patience=2000;" + GENERATE_COPY(from_range(all_modes())));
    const bool peers = GENERATE(false, true);
    const auto &d = cushim::driver();
    RunOrder order;
    CUcontext first = nullptr, second = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&first) == CUDA_SUCCESS);
    REQUIRE(d.cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
    if (peers) {
        REQUIRE(d.cuCtxEnablePeerAccess(second, 0) == CUDA_SUCCESS);
    }
    const CUstream one = make_stream();
    REQUIRE(d.cuCtxSetCurrent(second) == CUDA_SUCCESS);
    const CUstream two = make_stream();
    CUdeviceptr memory = 0;
    REQUIRE(d.cuMemAlloc(&memory, 4) == CUDA_SUCCESS);
    REQUIRE(d.cuMemsetD8(memory, 0, 4) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWaitValue32_v2(two, memory, 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
    REQUIRE(order.launch(two, 2) == CUDA_SUCCESS);

    fail_work("cuLaunchHostFunc", 719);
    REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(one) == CUDA_ERROR_LAUNCH_FAILED);

    CHECK(d.cuStreamSynchronize(two) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuStreamQuery(two) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    CUdeviceptr more = 0;
    CHECK(d.cuMemAlloc(&more, 4) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuMemsetD8(memory, 1, 4) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(order.launch(two, 3) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(order.ran().empty());
    CHECK(d.cuDevicePrimaryCtxReset(1) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}

// What is recorded of primary contexts is taken to hold of created ones. Nothing is recorded of a second context
// of the same device.
TEST_CASE("a launch failure fails created contexts of other devices alone", "[engine]") {
    start("devices=2");
    const auto &d = cushim::driver();
    RunOrder order;
    CUcontext first = nullptr, near = nullptr, far = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&first) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxCreate_v2(&near, 0, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxCreate_v2(&far, 0, 1) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(first) == CUDA_SUCCESS);
    fail_work("cuLaunchHostFunc", 719);
    REQUIRE(order.launch(nullptr, 1) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    REQUIRE(d.cuCtxSetCurrent(near) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(d.cuCtxDestroy(near) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(far) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuCtxDestroy(far) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}

// No other fault than 719 is recorded with two devices.
TEST_CASE("another device's context goes on when one fails of an illegal address", "[engine]") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    CUcontext first = nullptr, second = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&first) == CUDA_SUCCESS);
    const CUstream one = make_stream();
    const CUevent event = make_event();
    REQUIRE(d.cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(second) == CUDA_SUCCESS);
    const CUstream two = make_stream();
    REQUIRE(d.cuEventRecord(event, one) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWaitEvent(two, event, 0) == CUDA_SUCCESS);
    REQUIRE(order.launch(two, 2) == CUDA_SUCCESS);
    fail_work("cuLaunchHostFunc", 700);
    REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(two) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(one) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(order.ran() == std::vector{2});
    destroy(two);
    REQUIRE(d.cuCtxSetCurrent(first) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
}

TEST_CASE("no context fails without a line that says why", "[engine]") {
    start("mode=adversarial;stall=0");
    const auto &d = cushim::driver();
    const CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    std::vector<char> source(64);
    CUdeviceptr memory = 0;
    REQUIRE(d.cuMemAlloc(&memory, 64) == CUDA_SUCCESS);
    REQUIRE(d.cuMemHostRegister(source.data(), source.size(), 0) == CUDA_SUCCESS);
    CUdeviceptr mapped = 0;
    REQUIRE(d.cuMemHostGetDevicePointer(&mapped, source.data(), 0) == CUDA_SUCCESS);
    REQUIRE(d.cuMemcpyDtoDAsync(memory, mapped, 64, stream) == CUDA_SUCCESS);
    REQUIRE(d.cuMemHostUnregister(source.data()) == CUDA_SUCCESS);
    expect_misuse("ends while 1 queued operations need it");
    const std::size_t before = misuses().size();
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(misuses().size() == before + 1);
    expect_misuse("cuMemcpyDtoDAsync (operation 1) in stream ");
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}
