// Green contexts: shares of the multiprocessors of a device, and the streams bound to them.
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

TEST_CASE("multiprocessors are split into equal groups and a remainder") {
    start("attribute.16=132");
    const auto all = whole();
    CHECK(all.type == CU_DEV_RESOURCE_TYPE_SM);
    CHECK(all.sm.smCount == 132);
    unsigned int groups = 0;
    const auto split = [&](const CUdevResource &from, unsigned int flags, unsigned int least) {
        return d.cuDevSmResourceSplitByCount(nullptr, &groups, &from, nullptr, flags, least);
    };
    CHECK(split(all, 0, 30) == good);
    CHECK(groups == 4); // of 32 each
    std::vector<CUdevResource> parts(3);
    groups = 3;
    CUdevResource rest{};
    CHECK(d.cuDevSmResourceSplitByCount(parts.data(), &groups, &all, &rest, 0, 30) == good);
    CHECK(groups == 3);
    CHECK(parts[0].sm.smCount == 32);
    CHECK(parts[2].sm.smCount == 32);
    CHECK(rest.sm.smCount == 36);
    // A group of a split cannot be split again.
    check_all(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
              {split(parts[0], 0, 8), split(all, 0, 133)});
    CHECK(split(all, 4, 8) == invalid);
    CHECK(d.cuDevSmResourceSplitByCount(nullptr, nullptr, &all, nullptr, 0, 8) == invalid);
    CHECK(split({}, 0, 8) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_CASE("a green context retains its primary context") {
    REQUIRE(d.cuDevicePrimaryCtxRelease(0) == good);
    const auto green = green_with(whole());
    unsigned int flags = 0;
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 1);
    CHECK(leaks().size() == 1);
    CHECK(d.cuCtxSetCurrent(got<CUcontext>(&Driver::cuCtxFromGreenCtx, out, green)) == good);
    CHECK(d.cuGreenCtxDestroy(green) == good);
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 0);
    check_misuse(d.cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT, "green context");
}

TEST_CASE("an event of a green context covers all its streams") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto green = green_with(whole());
    CUstream stream = nullptr, later = nullptr;
    CHECK(d.cuGreenCtxStreamCreate(&stream, green, 0, 0) == invalid);
    REQUIRE(d.cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0) == good);
    {
        const Stream plain(non_blocking);
        CHECK(got<CUgreenCtx>(&Driver::cuStreamGetGreenCtx, stream, out) == green);
        CHECK(got<CUgreenCtx>(&Driver::cuStreamGetGreenCtx, plain, out) == nullptr);

        // The green context records one event, and waits for another one.
        const DeviceMemory memory(4);
        const Event event(CU_EVENT_DISABLE_TIMING), other(CU_EVENT_DISABLE_TIMING);
        CHECK(d.cuMemsetD32Async(memory, 1, 1, stream) == good);
        CHECK(d.cuGreenCtxRecordEvent(green, event) == good);
        CHECK(d.cuStreamWaitEvent(plain, event, 0) == good);
        CHECK(d.cuMemsetD32Async(memory, 2, 1, plain) == good);
        CHECK(d.cuEventRecord(other, plain) == good);
        CHECK(d.cuGreenCtxWaitEvent(green, other) == good);
        CHECK(d.cuMemsetD32Async(memory, 3, 1, stream) == good);
        REQUIRE(d.cuGreenCtxStreamCreate(&later, green, CU_STREAM_NON_BLOCKING, 0) == good);
        CHECK(d.cuStreamSynchronize(later) == good); // also runs after the event
        CHECK(d.cuEventQuery(other) == good);
        CHECK(d.cuStreamSynchronize(stream) == good);
        CHECK(got<unsigned int>(&Driver::cuMemcpyDtoH, out, memory, 4) == 3);
    }
    destroy(later);
    const bool forgotten = GENERATE(false, true);
    if (!forgotten) {
        destroy(stream);
    }
    CHECK(d.cuGreenCtxDestroy(green) == good);
    if (forgotten) {
        expect_misuse("a green context is destroyed before its stream");
        check_misuse(d.cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE, "stream");
    }
}

TEST_CASE("arguments of green contexts are checked") {
    auto all = whole();
    CUdevResource twice[] = {all, all};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    auto changed = all;
    changed.sm.smCount += 1;
    check_all(invalid, {d.cuDevResourceGenerateDesc(nullptr, &all, 1),
                        d.cuDevResourceGenerateDesc(&description, nullptr, 1),
                        d.cuDevResourceGenerateDesc(&description, &changed, 1),
                        d.cuDeviceGetDevResource(0, nullptr, CU_DEV_RESOURCE_TYPE_SM)});
    check_misuse(d.cuDevResourceGenerateDesc(&description, &all, 0), invalid,
                 "an empty resource description");
    CHECK(d.cuDevResourceGenerateDesc(&description, twice, 2) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    REQUIRE(d.cuDevResourceGenerateDesc(&description, &all, 1) == good);
    check_all(invalid, {d.cuGreenCtxCreate(&green, description, 0, 0),
                        d.cuGreenCtxCreate(nullptr, description, 0, 1),
                        d.cuGreenCtxCreate(&green, nullptr, 0, 1)});
    check_all(CUDA_ERROR_INVALID_DEVICE,
              {d.cuGreenCtxCreate(&green, description, 7, 1),
               d.cuDeviceGetDevResource(5, &all, CU_DEV_RESOURCE_TYPE_SM)});
    CHECK(d.cuDeviceGetDevResource(0, &all, static_cast<CUdevResourceType>(77)) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CHECK(d.cuGreenCtxDestroy(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
}

#else

TEST_CASE("green contexts require CUDA 12.5") {
    SKIP("the headers of this build are older");
}

#endif
