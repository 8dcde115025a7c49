// Green contexts: shares of the multiprocessors of a device, and the streams bound to them.
#include "handles.hpp"

#if CUDA_VERSION >= 12050

using namespace sim_test;

namespace {

CUdevResource whole() {
    return got<CUdevResource>(&Driver::cuDeviceGetDevResource, 0, out, CU_DEV_RESOURCE_TYPE_SM);
}

CUgreenCtx green_with(CUdevResource resource) {
    const auto description =
        got<CUdevResourceDesc>(&Driver::cuDevResourceGenerateDesc, out, &resource, 1);
    return got<CUgreenCtx>(&Driver::cuGreenCtxCreate, out, description, 0,
                           CU_GREEN_CTX_DEFAULT_STREAM);
}

} // namespace

TEST_CASE("multiprocessors are split into equal groups and a remainder") {
    start("attribute.16=132");
    const auto all = whole();
    CHECK(all.type == CU_DEV_RESOURCE_TYPE_SM);
    CHECK(all.sm.smCount == 132);
    unsigned int groups = 0;
    ok(driver().cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 0, 30));
    CHECK(groups == 4); // of 32 each
    std::vector<CUdevResource> parts(3);
    groups = 3;
    const auto rest = got<CUdevResource>(&Driver::cuDevSmResourceSplitByCount, parts.data(),
                                         &groups, &all, out, 0, 30);
    CHECK(groups == 3);
    CHECK(parts[0].sm.smCount == 32);
    CHECK(parts[2].sm.smCount == 32);
    CHECK(rest.sm.smCount == 36);
    const CUdevResource none{};
    check_all(invalid,
              {driver().cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 4, 8),
               driver().cuDevSmResourceSplitByCount(nullptr, nullptr, &all, nullptr, 0, 8)});
    CHECK(driver().cuDevSmResourceSplitByCount(nullptr, &groups, &none, nullptr, 0, 8) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    // A group of a split cannot be split again.
    CHECK(driver().cuDevSmResourceSplitByCount(nullptr, &groups, &parts[0], nullptr, 0, 8) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

TEST_CASE("a green context retains its primary context") {
    require_ok(driver().cuDevicePrimaryCtxRelease(0));
    const auto green = green_with(whole());
    unsigned int flags = 0;
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 1);
    CHECK(leaks().size() == 1);
    ok(driver().cuGreenCtxDestroy(green));
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 0);
    check_misuse(driver().cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT, "green context");
}

TEST_CASE("an event of a green context covers all its streams") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto green = green_with(whole());
    CUstream stream = nullptr, later = nullptr;
    require_ok(driver().cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    {
        const Stream plain(non_blocking);
        // The green context records one event, and waits for another one.
        const DeviceMemory memory(4);
        const Event event(CU_EVENT_DISABLE_TIMING), other(CU_EVENT_DISABLE_TIMING);
        ok(driver().cuMemsetD32Async(memory, 1, 1, stream));
        ok(driver().cuGreenCtxRecordEvent(green, event));
        ok(driver().cuStreamWaitEvent(plain, event, 0));
        ok(driver().cuMemsetD32Async(memory, 2, 1, plain));
        ok(driver().cuEventRecord(other, plain));
        ok(driver().cuGreenCtxWaitEvent(green, other));
        ok(driver().cuMemsetD32Async(memory, 3, 1, stream));
        require_ok(driver().cuGreenCtxStreamCreate(&later, green, CU_STREAM_NON_BLOCKING, 0));
        ok(driver().cuStreamSynchronize(later)); // also runs after the event
        ok(driver().cuEventQuery(other));
        ok(driver().cuStreamSynchronize(stream));
        CHECK(got<unsigned int>(&Driver::cuMemcpyDtoH, out, memory, 4) == 3);
    }
    destroy(later);
    const bool forgotten = GENERATE(false, true);
    if (!forgotten) {
        destroy(stream);
    }
    ok(driver().cuGreenCtxDestroy(green));
    if (forgotten) {
        expect_misuse("a green context is destroyed before its stream");
        check_misuse(driver().cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE, "stream");
    }
}

TEST_CASE("a resource description needs one resource that a call returned, unchanged") {
    auto all = whole();
    auto changed = all;
    changed.sm.smCount += 1;
    CUdevResource resources[] = {all, all};
    CUdevResourceDesc description = nullptr;
    check_all(invalid, {driver().cuDevResourceGenerateDesc(&description, &changed, 1),
                        driver().cuDevResourceGenerateDesc(&description, nullptr, 1),
                        driver().cuDevResourceGenerateDesc(nullptr, &all, 1)});
    CHECK(driver().cuDevResourceGenerateDesc(&description, resources, 2) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    check_misuse(driver().cuDevResourceGenerateDesc(&description, resources, 0), invalid,
                 "an empty resource description");
    require_ok(driver().cuDevResourceGenerateDesc(&description, &all, 1));
    CHECK(driver().cuGreenCtxCreate(nullptr, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) ==
          invalid);
}

#endif
