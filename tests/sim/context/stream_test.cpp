// Streams: creation, destruction, properties, per-thread streams.
#include "base/checks.hpp"
#include "memory_tools.hpp"
#include "run_order.hpp"

using namespace sim_test;

TEST_CASE("an invalid stream handle fails and is reported by its kind") {
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    static long long nothing[64] = {};
    const auto wrong = reinterpret_cast<CUstream>(nothing);
    check_misuse(driver().cuStreamSynchronize(wrong), refused, "is not a stream handle");
    check_misuse(driver().cuStreamDestroy(wrong), refused, "is not a stream handle");
    const Event event;
    check_misuse(driver().cuStreamQuery(reinterpret_cast<CUstream>(event.get())), refused,
                 "a stream handle was expected, but this is event");
    const CUstream destroyed = make_stream();
    destroy(destroyed);
    RunOrder order;
    check_misuse(order.launch(destroyed, 1), refused, "use of a destroyed stream");
    check_misuse(driver().cuStreamDestroy(destroyed), refused, "use of a destroyed stream");
    CHECK(driver().cuStreamDestroy(CU_STREAM_PER_THREAD) == refused); // without a misuse
}

TEST_CASE("a stream of a destroyed context fails with CONTEXT_IS_DESTROYED and is reported") {
    const CUstream stream = make_stream();
    require_ok(driver().cuDevicePrimaryCtxReset(0));
    constexpr auto gone = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    constexpr char text[] = "use of a stream whose context was destroyed: stream 0x";
    check_misuse(driver().cuStreamSynchronize(stream), gone, text);
    check_misuse(driver().cuStreamDestroy(stream), gone, text);
    CHECK(driver().cuStreamSynchronize(nullptr) == gone);
}

TEST_CASE("the access policy window and the priority of a stream are stored and copied") {
    constexpr auto window = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
    constexpr auto priority = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    const Stream one, two;
    CUstreamAttrValue value{};
    value.accessPolicyWindow.num_bytes = 4096;
    value.accessPolicyWindow.hitRatio = 0.5f;
    ok(driver().cuStreamSetAttribute(one, window, &value));
    value.accessPolicyWindow.hitRatio = 2;
    CHECK(driver().cuStreamSetAttribute(one, window, &value) == invalid);
    value = {};
    value.priority = -3;
    ok(driver().cuStreamSetAttribute(one, priority, &value));
    ok(driver().cuStreamCopyAttributes(two, one));
    const auto copied = [&](CUstreamAttrID attribute) {
        return got<CUstreamAttrValue>(&Driver::cuStreamGetAttribute, two, attribute, out);
    };
    CHECK(copied(window).accessPolicyWindow.num_bytes == 4096);
    CHECK(copied(priority).priority == -3);
}

TEST_CASE("each thread has its own per-thread stream") {
    start("mode=adversarial");
    const CUcontext context = current();
    RunOrder order;
    require_ok(order.launch(CU_STREAM_PER_THREAD, 1));
    // The other thread's stream ends with the thread; its work continues.
    std::thread([&] {
        ok(driver().cuCtxSetCurrent(context));
        ok(driver().cuStreamQuery(CU_STREAM_PER_THREAD));
        ok(order.launch(CU_STREAM_PER_THREAD, 2));
        CHECK(driver().cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY);
        ok(order.launch(CU_STREAM_PER_THREAD, 3));
    }).join();
    ok(driver().cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CHECK(order.has(1));
    ok(driver().cuCtxSynchronize());
    CHECK(order.has(3));
}

TEST_CASE("a null stream of a per-thread entry point is the per-thread stream") {
    start("mode=adversarial");
    RunOrder order;
    ok(driver().cuLaunchHostFunc_ptsz(nullptr, RunOrder::note, order.entry(1)));
    CHECK(driver().cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY);
    while (driver().cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY) {
    }
    ok(driver().cuStreamQuery(CU_STREAM_PER_THREAD));
    CHECK(order.has(1));
    ok(driver().cuLaunchHostFunc_ptsz(nullptr, RunOrder::note, order.entry(2)));
    CHECK(driver().cuStreamQuery_ptsz(nullptr) == CUDA_ERROR_NOT_READY);
    ok(driver().cuStreamSynchronize_ptsz(nullptr));
    CHECK(order.has(2));
}

TEST_CASE("per-thread streams of many threads leave no leaks") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUcontext context = current();
    RunOrder order;
    for (int round = 0; round < 10; ++round) {
        in_threads([&](std::size_t t) {
            driver().cuCtxSetCurrent(context);
            return order.launch(CU_STREAM_PER_THREAD, static_cast<int>(t));
        });
    }
    ok(driver().cuCtxSynchronize());
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
