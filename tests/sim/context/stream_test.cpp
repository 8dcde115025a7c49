// Streams: creation, destruction, properties, per-thread streams.
#include "memory_tools.hpp"
#include "run_order.hpp"

using namespace sim_test;

namespace {

CUstream garbage() {
    static long long nothing[64] = {};
    return reinterpret_cast<CUstream>(nothing);
}

} // namespace

TEST_CASE("only creating a stream needs a current context") {
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
    // The default streams belong to the current context.
    for (const CUstream null : {CUstream(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
        CHECK(d.cuStreamSynchronize(null) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(d.cuStreamQuery(null) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(d.cuEventRecord(event, null) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(order.launch(null, 2) == CUDA_ERROR_INVALID_CONTEXT);
    }
}

TEST_CASE("stream flags and handles are checked") {
    CUstream stream = nullptr;
    check_all(invalid, {d.cuStreamCreate(nullptr, 0), d.cuStreamCreate(&stream, 2),
                        d.cuStreamCreate(&stream, 0xffffffffu),
                        d.cuStreamCreateWithPriority(&stream, 4, 0)});
    for (const CUstream fixed : {CUstream(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
        CHECK(d.cuStreamDestroy(fixed) == CUDA_ERROR_INVALID_HANDLE);
    }
    CHECK(misuses().empty());
}

TEST_CASE("an invalid stream handle fails and is reported by its kind") {
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(d.cuStreamSynchronize(garbage()), refused, "is not a stream handle");
    check_misuse(d.cuStreamDestroy(garbage()), refused, "is not a stream handle");
    const Event event;
    check_misuse(d.cuStreamQuery(reinterpret_cast<CUstream>(event.get())), refused,
                 "a stream handle was expected, but this is event");
    const CUstream destroyed = make_stream();
    destroy(destroyed);
    RunOrder order;
    check_misuse(order.launch(destroyed, 1), refused, "use of a destroyed stream");
    check_misuse(d.cuStreamDestroy(destroyed), refused, "use of a destroyed stream");
}

TEST_CASE("a stream of a destroyed context fails with CONTEXT_IS_DESTROYED and is reported") {
    const CUstream stream = make_stream();
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == good);
    constexpr auto gone = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    constexpr char told[] = "use of a stream whose context was destroyed: stream 0x";
    check_misuse(d.cuStreamSynchronize(stream), gone, told);
    check_misuse(d.cuStreamDestroy(stream), gone, told);
    CHECK(d.cuStreamSynchronize(nullptr) == gone);
}

TEST_CASE("null outputs of stream queries fail") {
    const Stream stream;
    check_all(invalid, {d.cuStreamGetPriority(stream, nullptr), d.cuStreamGetFlags(stream, nullptr),
                        d.cuStreamGetCtx(stream, nullptr),
                        d.cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr),
                        d.cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr)});
#if CUDA_VERSION >= 12000
    CHECK(d.cuStreamGetId(stream, nullptr) == invalid);
#endif
#if CUDA_VERSION >= 12080
    CHECK(d.cuStreamGetDevice(stream, nullptr) == invalid);
#endif
}

TEST_CASE("a stream reports its flags, priority, context, id and device") {
    start("devices=2");
    const CUcontext context = current();
    const Stream blocking, other(non_blocking);
    const auto flags_of = [](CUstream stream) {
        return got<unsigned int>(&Driver::cuStreamGetFlags, stream, out);
    };
    CHECK(flags_of(blocking) == CU_STREAM_DEFAULT);
    CHECK(flags_of(other) == CU_STREAM_NON_BLOCKING);
    CHECK(flags_of(nullptr) == CU_STREAM_DEFAULT);
    int least = 9, greatest = 9;
    REQUIRE(d.cuCtxGetStreamPriorityRange(&least, &greatest) == good);
    const std::pair<int, int> priorities[] = {
        {0, 0}, {greatest, greatest}, {-1, -1}, {greatest - 7, greatest}, {5, least}};
    for (const auto &[wanted, given] : priorities) {
        CUstream stream = nullptr;
        REQUIRE(d.cuStreamCreateWithPriority(&stream, 0, wanted) == good);
        CHECK(got<int>(&Driver::cuStreamGetPriority, stream, out) == given);
        destroy(stream);
    }
    const OnDevice second(1);
    CHECK(got<CUcontext>(&Driver::cuStreamGetCtx, blocking, out) == context);
    CHECK(got<CUcontext>(&Driver::cuStreamGetCtx, nullptr, out) == second.context);
#if CUDA_VERSION >= 12000
    std::set<unsigned long long> numbers;
    for (const CUstream stream : {blocking.get(), other.get(), CUstream(nullptr)}) {
        CHECK(numbers.insert(got<unsigned long long>(&Driver::cuStreamGetId, stream, out)).second);
    }
#endif
#if CUDA_VERSION >= 12080
    CHECK(got<CUdevice>(&Driver::cuStreamGetDevice, blocking, out) == 0);
    CHECK(got<CUdevice>(&Driver::cuStreamGetDevice, nullptr, out) == 1);
#endif
}

TEST_CASE("stream attributes are stored, checked and copied") {
    constexpr auto policy = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
    constexpr auto window = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
    constexpr auto priority = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    const Stream one, two;
    CUstreamAttrValue value{};
    CHECK(d.cuStreamGetAttribute(one, policy, &value) == good);
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    CHECK(d.cuStreamSetAttribute(one, policy, &value) == good);
    value.syncPolicy = static_cast<CUsynchronizationPolicy>(77);
    CHECK(d.cuStreamSetAttribute(one, policy, &value) == invalid);
    value = {};
    value.accessPolicyWindow.num_bytes = 4096;
    value.accessPolicyWindow.hitRatio = 0.5f;
    CHECK(d.cuStreamSetAttribute(one, window, &value) == good);
    value.accessPolicyWindow.hitRatio = 2;
    CHECK(d.cuStreamSetAttribute(one, window, &value) == invalid);
    value = {};
    value.priority = -3;
    CHECK(d.cuStreamSetAttribute(one, priority, &value) == good);
    CHECK(d.cuStreamCopyAttributes(two, one) == good);
    const auto copied = [&](CUstreamAttrID attribute) {
        return got<CUstreamAttrValue>(&Driver::cuStreamGetAttribute, two, attribute, out);
    };
    CHECK(copied(policy).syncPolicy == CU_SYNC_POLICY_YIELD);
    CHECK(copied(window).accessPolicyWindow.num_bytes == 4096);
    CHECK(copied(priority).priority == -3);
    for (const int unknown : {0, 2, 4, 31, 32, 1000, -1}) {
        const auto attribute = static_cast<CUstreamAttrID>(unknown);
        CHECK(d.cuStreamGetAttribute(one, attribute, &value) == invalid);
        CHECK(d.cuStreamSetAttribute(one, attribute, &value) == invalid);
    }
}

TEST_CASE("each thread has its own per-thread stream") {
    start("mode=adversarial");
    const CUcontext context = current();
    RunOrder order;
    REQUIRE(order.launch(CU_STREAM_PER_THREAD, 1) == good);
    // The other thread's stream ends with the thread; its work continues.
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

TEST_CASE("a null stream of a per-thread entry point is the per-thread stream") {
    start("mode=adversarial");
    const auto launch = exported_as<decltype(&cuLaunchHostFunc)>("cuLaunchHostFunc_ptsz");
    const auto query = exported_as<decltype(&cuStreamQuery)>("cuStreamQuery_ptsz");
    const auto synchronize =
        exported_as<decltype(&cuStreamSynchronize)>("cuStreamSynchronize_ptsz");
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

TEST_CASE("per-thread streams of many threads leave no leaks") {
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

TEST_CASE("a leaked stream is reported with the call that created it") {
    make_stream();
    const auto left = leaks();
    REQUIRE(left.size() == 1);
    CHECK(left[0].find("stream") != std::string::npos);
    CHECK(left[0].find("cuStreamCreate") != std::string::npos);
    allow_leaks();
}
