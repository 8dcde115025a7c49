// Green contexts: shares of a device's multiprocessors, and the streams that are bound to them.
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <vector>

#if CUDA_VERSION >= 12050

using namespace sim_test;

namespace {

CUdevResource whole() {
    CUdevResource resource{};
    REQUIRE(cushim::driver().cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM) ==
            CUDA_SUCCESS);
    return resource;
}

CUgreenCtx green_with(CUdevResource resource) {
    const auto &d = cushim::driver();
    CUdevResourceDesc description = nullptr;
    REQUIRE(d.cuDevResourceGenerateDesc(&description, &resource, 1) == CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    REQUIRE(d.cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) ==
            CUDA_SUCCESS);
    return green;
}

} // namespace

TEST_CASE("multiprocessors are split into equal parts and a rest", "[green]") {
    start("attribute.16=132");
    const auto &d = cushim::driver();
    const auto all = whole();
    CHECK(all.type == CU_DEV_RESOURCE_TYPE_SM);
    CHECK(all.sm.smCount == 132);
    unsigned int groups = 0;
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 0, 30) == CUDA_SUCCESS);
    CHECK(groups == 4); // of 32 each
    std::vector<CUdevResource> parts(3);
    groups = 3;
    CUdevResource rest{};
    CHECK(d.cuDevSmResourceSplitByCount(parts.data(), &groups, &all, &rest, 0, 30) == CUDA_SUCCESS);
    CHECK(groups == 3);
    CHECK(parts[0].sm.smCount == 32);
    CHECK(parts[2].sm.smCount == 32);
    CHECK(rest.sm.smCount == 36);
    // What came of a split cannot be split again.
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &parts[0], nullptr, 0, 8) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 0, 133) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 4, 8) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, nullptr, &all, nullptr, 0, 8) ==
          CUDA_ERROR_INVALID_VALUE);
    const CUdevResource made_up{};
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &made_up, nullptr, 0, 8) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_CASE("a green context holds its primary context", "[green]") {
    start();
    const auto &d = cushim::driver();
    REQUIRE(d.cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    const auto green = green_with(whole());
    unsigned int flags = 0;
    int active = 0;
    CHECK(d.cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS);
    CHECK(active == 1);
    CHECK(leaks().size() == 1);
    CUcontext context = nullptr;
    CHECK(d.cuCtxFromGreenCtx(&context, green) == CUDA_SUCCESS);
    CHECK(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(d.cuGreenCtxDestroy(green) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS);
    CHECK(active == 0);
    CHECK(d.cuGreenCtxDestroy(green) == CUDA_ERROR_INVALID_CONTEXT);
    expect_misuse("green context");
}

TEST_CASE("streams of a green context", "[green]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    const auto green = green_with(whole());
    CUstream stream = nullptr, plain = nullptr;
    CHECK(d.cuGreenCtxStreamCreate(&stream, green, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(d.cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CUgreenCtx found = nullptr;
    CHECK(d.cuStreamGetGreenCtx(stream, &found) == CUDA_SUCCESS);
    CHECK(found == green);
    CHECK(d.cuStreamGetGreenCtx(plain, &found) == CUDA_SUCCESS);
    CHECK(found == nullptr);

    // An event of all its streams, and one that all its streams wait for.
    CUdeviceptr memory = 0;
    CUevent event = nullptr, other = nullptr;
    REQUIRE(d.cuMemAlloc(&memory, 4) == CUDA_SUCCESS);
    REQUIRE(d.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    REQUIRE(d.cuEventCreate(&other, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    CHECK(d.cuMemsetD32Async(memory, 1, 1, stream) == CUDA_SUCCESS);
    CHECK(d.cuGreenCtxRecordEvent(green, event) == CUDA_SUCCESS);
    CHECK(d.cuStreamWaitEvent(plain, event, 0) == CUDA_SUCCESS);
    CHECK(d.cuMemsetD32Async(memory, 2, 1, plain) == CUDA_SUCCESS);
    CHECK(d.cuEventRecord(other, plain) == CUDA_SUCCESS);
    CHECK(d.cuGreenCtxWaitEvent(green, other) == CUDA_SUCCESS);
    CHECK(d.cuMemsetD32Async(memory, 3, 1, stream) == CUDA_SUCCESS);
    CUstream later = nullptr;
    REQUIRE(d.cuGreenCtxStreamCreate(&later, green, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(later) == CUDA_SUCCESS); // comes after the event, too
    CHECK(d.cuEventQuery(other) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    unsigned int value = 0;
    CHECK(d.cuMemcpyDtoH(&value, memory, 4) == CUDA_SUCCESS);
    CHECK(value == 3);

    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(other) == CUDA_SUCCESS);
    CHECK(d.cuStreamDestroy(plain) == CUDA_SUCCESS);
    CHECK(d.cuStreamDestroy(later) == CUDA_SUCCESS);
    SECTION("destroyed first") {
        CHECK(d.cuStreamDestroy(stream) == CUDA_SUCCESS);
    }
    SECTION("forgotten") {}
    CHECK(d.cuGreenCtxDestroy(green) == CUDA_SUCCESS);
    if (!misuses().empty()) {
        expect_misuse("its green context is destroyed before stream");
        CHECK(d.cuStreamDestroy(stream) != CUDA_SUCCESS);
        expect_misuse("stream");
    }
}

TEST_CASE("arguments of green contexts are checked", "[green]") {
    start();
    const auto &d = cushim::driver();
    auto all = whole();
    CUdevResourceDesc description = nullptr;
    CHECK(d.cuDevResourceGenerateDesc(nullptr, &all, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDevResourceGenerateDesc(&description, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDevResourceGenerateDesc(&description, &all, 0) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("a description of no resources");
    CUdevResource twice[] = {all, all};
    CHECK(d.cuDevResourceGenerateDesc(&description, twice, 2) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    auto changed = all;
    changed.sm.smCount += 1;
    CHECK(d.cuDevResourceGenerateDesc(&description, &changed, 1) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(d.cuDevResourceGenerateDesc(&description, &all, 1) == CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    CHECK(d.cuGreenCtxCreate(&green, description, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuGreenCtxCreate(&green, description, 7, 1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuGreenCtxCreate(nullptr, description, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuGreenCtxCreate(&green, nullptr, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDeviceGetDevResource(0, nullptr, CU_DEV_RESOURCE_TYPE_SM) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDeviceGetDevResource(0, &all, static_cast<CUdevResourceType>(77)) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CHECK(d.cuDeviceGetDevResource(5, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuGreenCtxDestroy(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
}

#else

TEST_CASE("green contexts and their streams came with CUDA 12.5", "[green]") {
    SKIP("the headers of this build are older");
}

#endif
