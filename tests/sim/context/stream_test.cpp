// Streams: making and destroying them, what they tell of themselves, whose they are.
#include "run_order.hpp"

#include <thread>

using namespace sim_test;

namespace {

CUstream garbage() {
    static long long nothing[64] = {};
    return reinterpret_cast<CUstream>(nothing);
}

} // namespace

TEST_CASE("a stream needs a current context, its later calls do not") {
    start();
    const Stream stream;
    const Event event;
    const CUcontext context = pop_current();
    CUstream none = nullptr;
    CHECK(d.cuStreamCreate(&none, 0) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuStreamCreateWithPriority(&none, 0, 0) == CUDA_ERROR_INVALID_CONTEXT);
    RunOrder order;
    CHECK(order.launch(stream, 1) == good);
    CHECK(d.cuEventRecord(event, stream) == good);
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(d.cuStreamQuery(stream) == good);
    CHECK(got<CUcontext>(&Driver::cuStreamGetCtx, stream, out) == context);
    // The null streams are those of the current context.
    for (const CUstream null : {CUstream(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
        CHECK(d.cuStreamSynchronize(null) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(d.cuStreamQuery(null) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(d.cuEventRecord(event, null) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(order.launch(null, 2) == CUDA_ERROR_INVALID_CONTEXT);
    }
}

TEST_CASE("a stream that works answers 600, then 0") {
    start(adversarial(1));
    RunOrder order;
    const Stream stream;
    REQUIRE(order.launch(stream, 1) == good);
    CHECK(d.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(d.cuStreamQuery(stream) == good);
}

TEST_CASE("stream flags and handles are checked") {
    start();
    CUstream stream = nullptr;
    CHECK(d.cuStreamCreate(nullptr, 0) == invalid);
    CHECK(d.cuStreamCreate(&stream, 2) == invalid);
    CHECK(d.cuStreamCreate(&stream, 0xffffffffu) == invalid);
    CHECK(d.cuStreamCreateWithPriority(&stream, 4, 0) == invalid);
    CHECK(d.cuStreamDestroy(nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuStreamDestroy(CU_STREAM_LEGACY) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuStreamDestroy(CU_STREAM_PER_THREAD) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(misuses().empty());
}

TEST_CASE("what is no stream is refused and named") {
    start();
    SECTION("garbage") {
        CHECK(d.cuStreamSynchronize(garbage()) == CUDA_ERROR_INVALID_HANDLE);
        expect_misuse("is not a stream handle");
        CHECK(d.cuStreamDestroy(garbage()) == CUDA_ERROR_INVALID_HANDLE);
        expect_misuse("is not a stream handle");
    }
    SECTION("another object") {
        const Event event;
        CHECK(d.cuStreamQuery(reinterpret_cast<CUstream>(event.get())) ==
              CUDA_ERROR_INVALID_HANDLE);
        expect_misuse("a stream handle was expected, but this is event");
    }
    SECTION("a destroyed one") {
        const CUstream stream = make_stream();
        destroy(stream);
        RunOrder order;
        CHECK(order.launch(stream, 1) == CUDA_ERROR_INVALID_HANDLE);
        expect_misuse("use of a destroyed stream");
        CHECK(d.cuStreamDestroy(stream) == CUDA_ERROR_INVALID_HANDLE);
        expect_misuse("use of a destroyed stream");
    }
    SECTION("one that went with its context") {
        const CUstream stream = make_stream();
        REQUIRE(d.cuDevicePrimaryCtxReset(0) == good);
        CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
        expect_misuse("use of a stream whose context was destroyed: stream 0x");
        CHECK(d.cuStreamDestroy(stream) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
        expect_misuse("use of a stream whose context was destroyed: stream 0x");
        CHECK(d.cuStreamSynchronize(nullptr) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
}

TEST_CASE("null outputs of stream questions are refused") {
    start();
    const Stream stream;
    CHECK(d.cuStreamGetPriority(stream, nullptr) == invalid);
    CHECK(d.cuStreamGetFlags(stream, nullptr) == invalid);
    CHECK(d.cuStreamGetCtx(stream, nullptr) == invalid);
    CHECK(d.cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr) == invalid);
    CHECK(d.cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr) == invalid);
#if CUDA_VERSION >= 12000
    CHECK(d.cuStreamGetId(stream, nullptr) == invalid);
#endif
#if CUDA_VERSION >= 12080
    CHECK(d.cuStreamGetDevice(stream, nullptr) == invalid);
#endif
}

TEST_CASE("streams tell their flags, priority, context and number") {
    start("devices=2");
    CUcontext second = nullptr;
    const CUcontext context = current();
    const Stream blocking, other(non_blocking);
    unsigned int flags = 99;
    CHECK(got(d.cuStreamGetFlags(blocking, &flags), flags) == CU_STREAM_DEFAULT);
    CHECK(got(d.cuStreamGetFlags(other, &flags), flags) == CU_STREAM_NON_BLOCKING);
    CHECK(got(d.cuStreamGetFlags(nullptr, &flags), flags) == CU_STREAM_DEFAULT);
    int least = 9, greatest = 9;
    REQUIRE(d.cuCtxGetStreamPriorityRange(&least, &greatest) == good);
    const struct {
        int given, got;
    } priorities[] = {{0, 0}, {greatest, greatest}, {-1, -1}, {greatest - 7, greatest}, {5, least}};
    for (const auto &priority : priorities) {
        CUstream stream = nullptr;
        REQUIRE(d.cuStreamCreateWithPriority(&stream, 0, priority.given) == good);
        int got = 99;
        CHECK(d.cuStreamGetPriority(stream, &got) == good);
        CHECK(got == priority.got);
        destroy(stream);
    }
    REQUIRE(d.cuCtxSetCurrent(got(d.cuDevicePrimaryCtxRetain(&second, 1), second)) == good);
    CUcontext its = nullptr;
    CHECK(got(d.cuStreamGetCtx(blocking, &its), its) == context);
    CHECK(got(d.cuStreamGetCtx(nullptr, &its), its) == second);
#if CUDA_VERSION >= 12000
    unsigned long long one = 0, two = 0, null = 0;
    CHECK(d.cuStreamGetId(blocking, &one) == good);
    CHECK(d.cuStreamGetId(other, &two) == good);
    CHECK(d.cuStreamGetId(nullptr, &null) == good);
    CHECK(one != two);
    CHECK(one != null);
    CHECK(two != null);
#endif
#if CUDA_VERSION >= 12080
    CUdevice device = 99;
    CHECK(got(d.cuStreamGetDevice(blocking, &device), device) == 0);
    CHECK(got(d.cuStreamGetDevice(nullptr, &device), device) == 1);
#endif
    REQUIRE(d.cuCtxSetCurrent(context) == good);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
}

TEST_CASE("stream attributes are kept, checked and copied") {
    start("devices=2");
    const Stream one, two;
    CUstreamAttrValue value{};
    CHECK(d.cuStreamGetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value) == good);
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    CHECK(d.cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value) == good);
    value.syncPolicy = static_cast<CUsynchronizationPolicy>(77);
    CHECK(d.cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value) ==
          invalid);
    value = {};
    value.accessPolicyWindow.num_bytes = 4096;
    value.accessPolicyWindow.hitRatio = 0.5f;
    CHECK(d.cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value) == good);
    value.accessPolicyWindow.hitRatio = 2;
    CHECK(d.cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value) == invalid);
    value = {};
    value.priority = -3;
    CHECK(d.cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value) == good);
    CHECK(d.cuStreamCopyAttributes(two, one) == good);
    CHECK(d.cuStreamGetAttribute(two, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value) == good);
    CHECK(value.syncPolicy == CU_SYNC_POLICY_YIELD);
    CHECK(d.cuStreamGetAttribute(two, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value) == good);
    CHECK(value.accessPolicyWindow.num_bytes == 4096);
    CHECK(d.cuStreamGetAttribute(two, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value) == good);
    CHECK(value.priority == -3);
    for (const int unknown : {0, 2, 4, 31, 32, 1000, -1}) {
        const auto attribute = static_cast<CUstreamAttrID>(unknown);
        CHECK(d.cuStreamGetAttribute(one, attribute, &value) == invalid);
        CHECK(d.cuStreamSetAttribute(one, attribute, &value) == invalid);
    }
}

TEST_CASE("every thread has its own per-thread stream") {
    start("mode=adversarial");
    const CUcontext context = current();
    RunOrder order;
    REQUIRE(order.launch(CU_STREAM_PER_THREAD, 1) == good);
    // The other thread's stream ends with the thread, its work does not.
    std::thread([&] {
        CHECK(d.cuCtxSetCurrent(context) == good);
        CHECK(d.cuStreamQuery(CU_STREAM_PER_THREAD) == good);
        CHECK(order.launch(CU_STREAM_PER_THREAD, 2) == good);
        CHECK(d.cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY);
        CHECK(order.launch(CU_STREAM_PER_THREAD, 3) == good);
    }).join();
    CHECK(d.cuStreamSynchronize(CU_STREAM_PER_THREAD) == good);
    CHECK(order.has(1));
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(order.has(3));
}

TEST_CASE("a null stream of a per-thread entry point is the thread's own") {
    start("mode=adversarial");
    const auto launch =
        reinterpret_cast<decltype(&cuLaunchHostFunc)>(exported("cuLaunchHostFunc_ptsz"));
    const auto query = reinterpret_cast<decltype(&cuStreamQuery)>(exported("cuStreamQuery_ptsz"));
    const auto synchronize =
        reinterpret_cast<decltype(&cuStreamSynchronize)>(exported("cuStreamSynchronize_ptsz"));
    REQUIRE(launch != nullptr);
    REQUIRE(query != nullptr);
    REQUIRE(synchronize != nullptr);
    RunOrder order;
    CHECK(launch(nullptr, RunOrder::note, order.entry(1)) == good);
    CHECK(d.cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY);
    while (d.cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY) {
    }
    CHECK(d.cuStreamQuery(CU_STREAM_PER_THREAD) == good);
    CHECK(order.has(1));
    CHECK(launch(nullptr, RunOrder::note, order.entry(2)) == good);
    CHECK(query(nullptr) == CUDA_ERROR_NOT_READY);
    CHECK(synchronize(nullptr) == good);
    CHECK(order.has(2));
}

TEST_CASE("streams of many threads leave nothing behind") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUcontext context = current();
    RunOrder order;
    for (int round = 0; round < 5; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                d.cuCtxSetCurrent(context);
                order.launch(CU_STREAM_PER_THREAD, i);
            });
        }
        for (auto &thread : threads) {
            thread.join();
        }
    }
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(order.ran().size() == 40);
    CHECK(leaks().empty());
}

TEST_CASE("a stream that nobody destroys is reported with the call that made it") {
    start();
    make_stream();
    const auto left = leaks();
    REQUIRE(left.size() == 1);
    CHECK(left[0].find("stream") != std::string::npos);
    CHECK(left[0].find("cuStreamCreate") != std::string::npos);
    allow_leaks();
}
