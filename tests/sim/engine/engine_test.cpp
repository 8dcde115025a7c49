// When enqueued work runs: the order rules of streams, in every mode.
#include "memory_tools.hpp"
#include "pinned_word.hpp"
#include "run_order.hpp"

using namespace sim_test;

TEST_CASE("immediate mode runs work before the call returns, adversarial mode later") {
    RunOrder order;
    ok(order.launch(nullptr, 1));
    CHECK(order.has(1));
    ok(driver().cuStreamQuery(nullptr));
    start(adversarial(1));
    ok(order.launch(nullptr, 2));
    CHECK_FALSE(order.has(2));
    int asked = 0; // the first queries run no work
    while (driver().cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY) {
        ++asked;
    }
    CHECK(asked > 0);
    ok(driver().cuStreamQuery(nullptr));
    CHECK(order.has(2));
}

TEST_CASE("polling ends in every mode") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream one, two(non_blocking);
    const Event event;
    for (int i = 0; i < 20; ++i) {
        require_ok(order.launch(one, i));
        require_ok(order.launch(two, 100 + i));
    }
    require_ok(driver().cuEventRecord(event, one));
    while (driver().cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
        std::this_thread::yield();
    }
    CHECK(order.has(19));
    ok(driver().cuStreamQuery(one));
    while (driver().cuStreamQuery(two) == CUDA_ERROR_NOT_READY) {
        std::this_thread::yield();
    }
    CHECK(order.ran().size() == 40);
}

namespace {

// Returns whether the work enqueued second can run first.
bool ever_passed(CUstream (*first)(), CUstream (*second)(), unsigned int seeds) {
    bool passed = false;
    for (unsigned int seed = 1; seed <= seeds; ++seed) {
        start(adversarial(seed));
        const CUstream a = first(), b = second();
        RunOrder order;
        require_ok(order.launch(a, 1));
        require_ok(order.launch(b, 2));
        require_ok(driver().cuLaunchHostFunc(b, RunOrder::note, order.entry(3)));
        sim_control().drain();
        const auto ran = order.ran();
        REQUIRE(ran.size() == 3);
        passed = passed || ran.front() == 2;
    }
    sim_control().reset();
    return passed;
}

} // namespace

TEST_CASE("the legacy stream is ordered with blocking streams only") {
    const auto legacy = [] { return CU_STREAM_LEGACY; };
    const auto null = [] { return CUstream(nullptr); };
    const auto per_thread = [] { return CU_STREAM_PER_THREAD; };
    const auto blocking = [] { return make_stream(); };
    const auto independent = [] { return make_stream(non_blocking); };
    struct Rule {
        const char *name;
        CUstream (*first)(), (*second)();
        bool ordered;
    };
    const Rule rules[] = {
        {"null, legacy", null, legacy, true},
        {"legacy, null", legacy, null, true},
        {"blocking, legacy", blocking, legacy, true},
        {"legacy, blocking", legacy, blocking, true},
        {"per-thread, legacy", per_thread, legacy, true},
        {"legacy, per-thread", legacy, per_thread, true},
        {"per-thread, per-thread", per_thread, per_thread, true},
        {"non-blocking, legacy", independent, legacy, false},
        {"legacy, non-blocking", legacy, independent, false},
        {"blocking, blocking", blocking, blocking, false},
        {"blocking, per-thread", blocking, per_thread, false},
        {"per-thread, blocking", per_thread, blocking, false},
        {"blocking, non-blocking", blocking, independent, false},
        {"non-blocking, non-blocking", independent, independent, false},
        {"non-blocking, per-thread", independent, per_thread, false},
    };
    for (const Rule &rule : rules) {
        INFO(rule.name);
        CHECK(ever_passed(rule.first, rule.second, 40) == !rule.ordered);
    }
}

TEST_CASE("legacy streams of different contexts are not ordered") {
    bool passed = false;
    for (unsigned int seed = 1; seed <= 20; ++seed) {
        start("devices=2;" + adversarial(seed));
        RunOrder order;
        const CUcontext first = current();
        const PrimaryContext second(1);
        require_ok(order.launch(nullptr, 1));
        require_ok(driver().cuCtxSetCurrent(second));
        require_ok(order.launch(nullptr, 2));
        require_ok(driver().cuCtxSynchronize());
        CHECK(order.has(2));
        passed = passed || !order.has(1);
        require_ok(driver().cuCtxSetCurrent(first));
        require_ok(driver().cuCtxSynchronize());
        CHECK(order.has(1));
    }
    CHECK(passed);
}

TEST_CASE("a stream waits for an event of another device") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream one;
    const Event event;
    const OnDevice second(1);
    const Stream two;
    require_ok(order.launch(one, 1));
    require_ok(driver().cuEventRecord(event, one));
    require_ok(driver().cuStreamWaitEvent(two, event, 0));
    require_ok(order.launch(two, 2));
    ok(driver().cuStreamSynchronize(two));
    CHECK(order.ran() == std::vector{1, 2});
}

TEST_CASE("a stream may be destroyed while its work is pending") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream(non_blocking), other = make_stream();
    const CUevent event = make_event();
    order.launch_many(stream, 10);
    require_ok(driver().cuEventRecord(event, stream));
    destroy(stream);
    CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed stream");
    CHECK(leaks().size() == 2); // the event and the other stream
    require_ok(driver().cuStreamWaitEvent(other, event, 0));
    destroy(event); // while a stream waits for it
    require_ok(order.launch(other, 10));
    ok(driver().cuStreamSynchronize(other));
    CHECK(order.ran() == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    require_ok(order.launch(other, 11));
    destroy(other);
    ok(driver().cuCtxSynchronize());
    CHECK(order.has(11));
}

TEST_CASE("resetting a primary context runs its pending work first") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream();
    require_ok(order.launch(stream, 1));
    require_ok(order.launch(nullptr, 2));
    ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(order.ran() == std::vector{1, 2});
}

TEST_CASE("resetting the simulator drops pending work") {
    start(GENERATE(as<std::string>{}, "mode=adversarial", "mode=immediate", "mode=threaded"));
    RunOrder order;
    PinnedWord word;
    const CUstream stream = make_stream();
    require_ok(driver().cuStreamWaitValue32_v2(stream, word.address, 1, CU_STREAM_WAIT_VALUE_EQ));
    order.launch_many(stream, 1000);
    destroy(stream);
    sim_control().reset();
    CHECK(order.ran().empty());
    CHECK(leaks().empty());
}

TEST_CASE("queues of thousands of waits need no deep stack and little time") {
    start(GENERATE(as<std::string>{}, "mode=adversarial", "mode=threaded", "mode=immediate"));
    PinnedWord word;
    const CUstream one = make_stream(), two = make_stream();
    require_ok(driver().cuStreamWaitValue32_v2(one, word.address, 1, CU_STREAM_WAIT_VALUE_EQ));
    const CUevent event = make_event();
    for (int i = 0; i < 4000; ++i) {
        require_ok(driver().cuEventRecord(event, i % 2 != 0 ? one : two));
        require_ok(driver().cuStreamWaitEvent(i % 2 != 0 ? two : one, event, 0));
    }
    const bool dropped = GENERATE(true, false);
    if (dropped) {
        sim_control().reset();
        return;
    }
    word.value->store(1);
    ok(driver().cuEventSynchronize(event));
    ok(driver().cuCtxSynchronize());
    destroy(event);
    destroy(one);
    destroy(two);
}
