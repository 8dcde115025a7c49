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

CUgreenCtx green_of(unsigned int multiprocessors) {
    const auto all = whole();
    CUdevResource part{};
    unsigned int groups = 1;
    require_ok(
        driver().cuDevSmResourceSplitByCount(&part, &groups, &all, nullptr, 0, multiprocessors));
    return green_with(part);
}

CUcontext context_of(CUgreenCtx green) {
    return got<CUcontext>(&Driver::cuCtxFromGreenCtx, out, green);
}

// A green context whose context is current.
struct CurrentGreen {
    CurrentGreen() { require_ok(driver().cuCtxPushCurrent(context)); }
    void end() const {
        pop_current();
        ok(driver().cuGreenCtxDestroy(green));
    }

    const CUgreenCtx green = green_of(8);
    const CUcontext context = context_of(green);
};

CUstream stream_of(CUgreenCtx green) {
    return got<CUstream>(&Driver::cuGreenCtxStreamCreate, out, green, CU_STREAM_NON_BLOCKING, 0);
}

CUcontext current() {
    return got<CUcontext>(&Driver::cuCtxGetCurrent, out);
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
    check_misuse(driver().cuGreenCtxDestroy(green), CUDA_ERROR_CONTEXT_IS_DESTROYED,
                 "green context");
}

TEST_CASE("a green context has a context of its own") {
    start("attribute.16=132");
    const CUcontext primary = current();
    const CurrentGreen green;
    CHECK(green.context != primary);
    CHECK(context_of(green.green) == green.context);
    CHECK(current() == green.context);
    CHECK(got<unsigned long long>(&Driver::cuCtxGetId, green.context, out) !=
          got<unsigned long long>(&Driver::cuCtxGetId, primary, out));
    for (const auto &[context, count] : {std::pair{primary, 132u}, std::pair{green.context, 8u}}) {
        const auto found =
            got<CUdevResource>(&Driver::cuCtxGetDevResource, context, out, CU_DEV_RESOURCE_TYPE_SM);
        CHECK(found.sm.smCount == count);
    }
    CUdevResource none;
    CHECK(driver().cuCtxGetDevResource(nullptr, &none, CU_DEV_RESOURCE_TYPE_SM) ==
          CUDA_ERROR_INVALID_CONTEXT);
    check_all(CUDA_ERROR_INVALID_CONTEXT,
              {driver().cuCtxDestroy(green.context), driver().cuCtxDetach(green.context)});
    green.end();
    CHECK(current() == primary);
}

TEST_CASE("streams that are made with a green context current belong to it") {
    start(GENERATE(from_range(all_modes())));
    const CUcontext primary = current();
    CUcontext found = nullptr;
    const Stream plain(non_blocking);
    const CurrentGreen green;
    {
        const Stream made(non_blocking);
        for (const CUstream stream : {CUstream(made), CUstream(nullptr)}) {
            CHECK(got<CUcontext>(&Driver::cuStreamGetCtx, stream, out) == green.context);
            CHECK(got<CUgreenCtx>(&Driver::cuStreamGetGreenCtx, stream, out) == green.green);
        }
        CHECK(got<CUcontext>(&Driver::cuStreamGetCtx, CUstream(plain), out) == primary);
        CHECK(got<CUgreenCtx>(&Driver::cuStreamGetGreenCtx, CUstream(plain), out) == nullptr);
        CHECK(driver().cuStreamGetCtx(CU_STREAM_PER_THREAD, &found) == CUDA_ERROR_INVALID_HANDLE);
#if CUDA_VERSION >= 13000
        CUgreenCtx its = nullptr;
        ok(driver().cuStreamGetCtx_v2(made, &found, &its));
        CHECK(found == primary);
        CHECK(its == green.green);
        ok(driver().cuStreamGetCtx_v2(plain, &found, &its));
        CHECK(found == primary);
        CHECK(its == nullptr);
        ok(driver().cuStreamGetCtx_v2(made, nullptr, &its));
        CHECK(driver().cuStreamGetCtx_v2(made, nullptr, nullptr) == invalid);
#endif
    }
    green.end();
}

TEST_CASE("what else is made with a green context current belongs to the primary context") {
    start(GENERATE(from_range(all_modes())));
    const CUcontext primary = current();
    const Stream plain(non_blocking);
    const CurrentGreen green;
    const CUstream stream = stream_of(green.green);
    const DeviceMemory memory(4);
    const Event event(CU_EVENT_DISABLE_TIMING);
    CHECK(got<CUcontext>(&Driver::cuPointerGetAttribute, out, CU_POINTER_ATTRIBUTE_CONTEXT,
                         CUdeviceptr(memory)) == primary);
    ok(driver().cuMemsetD32Async(memory, 7, 1, stream));
    ok(driver().cuEventRecord(event, stream));
    ok(driver().cuStreamWaitEvent(plain, event, 0));
    ok(driver().cuEventRecord(event, plain));
    ok(driver().cuEventSynchronize(event));
    destroy(stream);
    green.end();
    CHECK(got<unsigned int>(&Driver::cuMemcpyDtoH, out, CUdeviceptr(memory), 4) == 7);
}

TEST_CASE("a primary context waits for its green contexts, a green context for itself") {
    start(GENERATE(from_range(all_modes())));
    const CUcontext primary = current();
    const CurrentGreen green;
    {
        const Stream made(non_blocking);
        const DeviceMemory memory(4);
        ok(driver().cuMemsetD32Async(memory, 1, 1, made));
        ok(driver().cuCtxSynchronize());
        ok(driver().cuStreamQuery(made));
        ok(driver().cuMemsetD32Async(memory, 2, 1, made));
        ok(driver().cuCtxSetCurrent(primary));
        ok(driver().cuCtxSynchronize());
        ok(driver().cuStreamQuery(made));
        ok(driver().cuCtxSetCurrent(green.context));
    }
    green.end();
}

TEST_CASE("a context is synchronized while a stream of its green context captures") {
    const CurrentGreen green;
    pop_current();
    const CUstream stream = stream_of(green.green);
    require_ok(begin_capture(stream, global));
    ok(driver().cuCtxSynchronize());
    const Graph graph(end_capture(stream));
    require_ok(begin_capture(stream, global));
    ok(driver().cuCtxPushCurrent(green.context));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph none = nullptr;
    CHECK(driver().cuStreamEndCapture(stream, &none) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    destroy(stream);
    green.end();
}

TEST_CASE("the context of a destroyed green context may stay current") {
    const CUcontext primary = current();
    const CurrentGreen green;
    ok(driver().cuGreenCtxDestroy(green.green));
    CHECK(current() == green.context);
    CUdeviceptr address = 0;
    unsigned int number = 0;
    check_all(CUDA_ERROR_CONTEXT_IS_DESTROYED,
              {driver().cuMemAlloc(&address, 16), driver().cuCtxSynchronize(),
               driver().cuStreamSynchronize(nullptr)});
    CHECK(driver().cuCtxGetApiVersion(green.context, &number) == CUDA_ERROR_INVALID_CONTEXT);
    ok(driver().cuCtxGetFlags(&number));
    CHECK(got<CUdevice>(&Driver::cuCtxGetDevice, out) == 0);
    pop_current();
    CHECK(current() == primary);
    ok(driver().cuCtxPushCurrent(green.context));
    pop_current();
    ok(driver().cuCtxSynchronize());
}

TEST_CASE("a primary context with a green context is not reset") {
    const CurrentGreen green;
    CHECK(driver().cuDevicePrimaryCtxReset(0) == CUDA_ERROR_NOT_PERMITTED);
    ok(driver().cuCtxSynchronize());
    green.end();
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("an event of a green context covers all its streams") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto green = green_with(whole());
    CUstream stream = nullptr, later = nullptr;
    require_ok(driver().cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    {
        const Stream plain(non_blocking);
        // The green context records one event, and waits for another one.
        const DeviceMemory memory(8);
        const Event event(CU_EVENT_DISABLE_TIMING), other(CU_EVENT_DISABLE_TIMING);
        ok(driver().cuMemsetD32Async(memory, 1, 1, stream));
        ok(driver().cuGreenCtxRecordEvent(green, event));
        ok(driver().cuStreamWaitEvent(plain, event, 0));
        ok(driver().cuMemsetD32Async(memory, 2, 1, plain));
        ok(driver().cuEventRecord(other, plain));
        ok(driver().cuGreenCtxWaitEvent(green, other));
        ok(driver().cuMemsetD32Async(memory, 3, 1, stream));
        require_ok(driver().cuGreenCtxStreamCreate(&later, green, CU_STREAM_NON_BLOCKING, 0));
        ok(driver().cuMemsetD32Async(memory + 4, 4, 1, later)); // also runs after the event
        ok(driver().cuStreamSynchronize(later));
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
        check_misuse(driver().cuStreamDestroy(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED, "stream");
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
