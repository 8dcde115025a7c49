// Green contexts: shares of a device's multiprocessors, and the streams that are bound to them.
#include "handles.hpp"

#if CUDA_VERSION >= 12050

using namespace sim_test;

namespace {

CUdevResource whole() {
    CUdevResource resource{};
    REQUIRE(d.cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM) == good);
    return resource;
}

CUgreenCtx green_with(CUdevResource resource) {
    CUdevResourceDesc description = nullptr;
    REQUIRE(d.cuDevResourceGenerateDesc(&description, &resource, 1) == good);
    CUgreenCtx green = nullptr;
    REQUIRE(d.cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) == good);
    return green;
}

} // namespace

TEST_CASE("multiprocessors are split into equal parts and a rest") {
    start("attribute.16=132");
    const auto all = whole();
    CHECK(all.type == CU_DEV_RESOURCE_TYPE_SM);
    CHECK(all.sm.smCount == 132);
    unsigned int groups = 0;
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 0, 30) == good);
    CHECK(groups == 4); // of 32 each
    std::vector<CUdevResource> parts(3);
    groups = 3;
    CUdevResource rest{};
    CHECK(d.cuDevSmResourceSplitByCount(parts.data(), &groups, &all, &rest, 0, 30) == good);
    CHECK(groups == 3);
    CHECK(parts[0].sm.smCount == 32);
    CHECK(parts[2].sm.smCount == 32);
    CHECK(rest.sm.smCount == 36);
    // What came of a split cannot be split again.
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &parts[0], nullptr, 0, 8) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 0, 133) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 4, 8) == invalid);
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, nullptr, &all, nullptr, 0, 8) == invalid);
    const CUdevResource made_up{};
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, &groups, &made_up, nullptr, 0, 8) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_CASE("a green context holds its primary context") {
    start();
    REQUIRE(d.cuDevicePrimaryCtxRelease(0) == good);
    const auto green = green_with(whole());
    unsigned int flags = 0;
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 1);
    CHECK(leaks().size() == 1);
    CHECK(d.cuCtxSetCurrent(got<CUcontext>(&Driver::cuCtxFromGreenCtx, out, green)) == good);
    CHECK(d.cuGreenCtxDestroy(green) == good);
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 0);
    CHECK(d.cuGreenCtxDestroy(green) == CUDA_ERROR_INVALID_CONTEXT);
    expect_misuse("green context");
}

TEST_CASE("streams of a green context") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto green = green_with(whole());
    CUstream stream = nullptr;
    CHECK(d.cuGreenCtxStreamCreate(&stream, green, 0, 0) == invalid);
    REQUIRE(d.cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0) == good);
    const CUstream plain = make_stream(non_blocking);
    CHECK(got<CUgreenCtx>(&Driver::cuStreamGetGreenCtx, stream, out) == green);
    CHECK(got<CUgreenCtx>(&Driver::cuStreamGetGreenCtx, plain, out) == nullptr);

    // An event of all its streams, and one that all its streams wait for.
    const CUdeviceptr memory = allocate(4);
    const CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
    const CUevent other = make_event(CU_EVENT_DISABLE_TIMING);
    CHECK(d.cuMemsetD32Async(memory, 1, 1, stream) == good);
    CHECK(d.cuGreenCtxRecordEvent(green, event) == good);
    CHECK(d.cuStreamWaitEvent(plain, event, 0) == good);
    CHECK(d.cuMemsetD32Async(memory, 2, 1, plain) == good);
    CHECK(d.cuEventRecord(other, plain) == good);
    CHECK(d.cuGreenCtxWaitEvent(green, other) == good);
    CHECK(d.cuMemsetD32Async(memory, 3, 1, stream) == good);
    CUstream later = nullptr;
    REQUIRE(d.cuGreenCtxStreamCreate(&later, green, CU_STREAM_NON_BLOCKING, 0) == good);
    CHECK(d.cuStreamSynchronize(later) == good); // comes after the event, too
    CHECK(d.cuEventQuery(other) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(got<unsigned int>(&Driver::cuMemcpyDtoH, out, memory, 4) == 3);

    CHECK(d.cuMemFree(memory) == good);
    CHECK(d.cuEventDestroy(event) == good);
    CHECK(d.cuEventDestroy(other) == good);
    CHECK(d.cuStreamDestroy(plain) == good);
    CHECK(d.cuStreamDestroy(later) == good);
    SECTION("destroyed first") {
        CHECK(d.cuStreamDestroy(stream) == good);
    }
    SECTION("forgotten") {}
    CHECK(d.cuGreenCtxDestroy(green) == good);
    if (!misuses().empty()) {
        expect_misuse("a green context is destroyed before its stream");
        CHECK(d.cuStreamDestroy(stream) != good);
        expect_misuse("stream");
    }
}

TEST_CASE("arguments of green contexts are checked") {
    start();
    auto all = whole();
    CUdevResourceDesc description = nullptr;
    CHECK(d.cuDevResourceGenerateDesc(nullptr, &all, 1) == invalid);
    CHECK(d.cuDevResourceGenerateDesc(&description, nullptr, 1) == invalid);
    CHECK(d.cuDevResourceGenerateDesc(&description, &all, 0) == invalid);
    expect_misuse("an empty resource description");
    CUdevResource twice[] = {all, all};
    CHECK(d.cuDevResourceGenerateDesc(&description, twice, 2) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    auto changed = all;
    changed.sm.smCount += 1;
    CHECK(d.cuDevResourceGenerateDesc(&description, &changed, 1) == invalid);
    REQUIRE(d.cuDevResourceGenerateDesc(&description, &all, 1) == good);
    CUgreenCtx green = nullptr;
    CHECK(d.cuGreenCtxCreate(&green, description, 0, 0) == invalid);
    CHECK(d.cuGreenCtxCreate(&green, description, 7, 1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuGreenCtxCreate(nullptr, description, 0, 1) == invalid);
    CHECK(d.cuGreenCtxCreate(&green, nullptr, 0, 1) == invalid);
    CHECK(d.cuDeviceGetDevResource(0, nullptr, CU_DEV_RESOURCE_TYPE_SM) == invalid);
    CHECK(d.cuDeviceGetDevResource(0, &all, static_cast<CUdevResourceType>(77)) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CHECK(d.cuDeviceGetDevResource(5, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuGreenCtxDestroy(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
}

#else

TEST_CASE("green contexts and their streams came with CUDA 12.5") {
    SKIP("the headers of this build are older");
}

#endif
