// When enqueued work runs: the order rules of streams, in every mode.
#include "memory_tools.hpp"
#include "pinned_word.hpp"
#include "run_order.hpp"

#include <numeric>

using namespace sim_test;

TEST_CASE("work of one stream runs in order") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream own;
    std::vector<int> expected(200);
    std::iota(expected.begin(), expected.end(), 0);
    for (const CUstream stream : {own.get(), CUstream(nullptr)}) {
        RunOrder order;
        order.launch_many(stream, 200);
        CHECK(d.cuStreamSynchronize(stream) == good);
        CHECK(order.ran() == expected);
    }
}

TEST_CASE("immediate mode runs work before the call returns, adversarial mode later") {
    RunOrder order;
    CHECK(order.launch(nullptr, 1) == good);
    CHECK(order.has(1));
    CHECK(d.cuStreamQuery(nullptr) == good);
    start(adversarial(1));
    CHECK(order.launch(nullptr, 2) == good);
    CHECK_FALSE(order.has(2));
    int asked = 0; // the first queries run no work
    while (d.cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY) {
        ++asked;
    }
    CHECK(asked > 0);
    CHECK(d.cuStreamQuery(nullptr) == good);
    CHECK(order.has(2));
}

TEST_CASE("polling ends in every mode") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream one, two(non_blocking);
    const Event event;
    for (int i = 0; i < 20; ++i) {
        REQUIRE(order.launch(one, i) == good);
        REQUIRE(order.launch(two, 100 + i) == good);
    }
    REQUIRE(d.cuEventRecord(event, one) == good);
    while (d.cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
        std::this_thread::yield();
    }
    CHECK(order.has(19));
    CHECK(d.cuStreamQuery(one) == good);
    while (d.cuStreamQuery(two) == CUDA_ERROR_NOT_READY) {
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
        REQUIRE(order.launch(a, 1) == good);
        REQUIRE(order.launch(b, 2) == good);
        REQUIRE(d.cuLaunchHostFunc(b, RunOrder::note, order.entry(3)) == good);
        sim_control().drain();
        const auto ran = order.ran();
        REQUIRE(ran.size() == 3);
        passed = passed || ran.front() == 2;
    }
    sim_control().reset();
    return passed;
}

CUstream legacy() {
    return CU_STREAM_LEGACY;
}
CUstream null() {
    return nullptr;
}
CUstream per_thread() {
    return CU_STREAM_PER_THREAD;
}
CUstream blocking() {
    return make_stream(CU_STREAM_DEFAULT);
}
CUstream independent() {
    return make_stream(non_blocking);
}

} // namespace

TEST_CASE("the legacy stream is ordered with blocking streams only") {
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

TEST_CASE("an event of the legacy stream covers all blocking streams") {
    bool missed = false;
    for (unsigned int seed = 1; seed <= 40; ++seed) {
        start(adversarial(seed));
        RunOrder order;
        const Stream one, two, other(non_blocking);
        const Event event;
        REQUIRE(order.launch(one, 1) == good);
        REQUIRE(order.launch(two, 2) == good);
        REQUIRE(order.launch(other, 3) == good);
        REQUIRE(d.cuEventRecord(event, nullptr) == good);
        REQUIRE(d.cuEventSynchronize(event) == good);
        CHECK(order.has(1));
        CHECK(order.has(2));
        missed = missed || !order.has(3);
        REQUIRE(d.cuCtxSynchronize() == good);
        CHECK(order.has(3));
    }
    CHECK(missed);
}

TEST_CASE("synchronizing the legacy stream or the context waits for earlier work") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream stream;
    REQUIRE(order.launch(stream, 1) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == good);
    CHECK(order.has(1));
    const CUstream destroyed = make_stream();
    REQUIRE(order.launch(destroyed, 2) == good);
    destroy(destroyed);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(order.has(2));
}

TEST_CASE("legacy streams of different contexts are not ordered") {
    bool passed = false;
    for (unsigned int seed = 1; seed <= 20; ++seed) {
        start("devices=2;" + adversarial(seed));
        RunOrder order;
        const CUcontext first = current();
        const PrimaryContext second(1);
        REQUIRE(order.launch(nullptr, 1) == good);
        REQUIRE(d.cuCtxSetCurrent(second) == good);
        REQUIRE(order.launch(nullptr, 2) == good);
        REQUIRE(d.cuCtxSynchronize() == good);
        CHECK(order.has(2));
        passed = passed || !order.has(1);
        REQUIRE(d.cuCtxSetCurrent(first) == good);
        REQUIRE(d.cuCtxSynchronize() == good);
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
    REQUIRE(order.launch(one, 1) == good);
    REQUIRE(d.cuEventRecord(event, one) == good);
    REQUIRE(d.cuStreamWaitEvent(two, event, 0) == good);
    REQUIRE(order.launch(two, 2) == good);
    CHECK(d.cuStreamSynchronize(two) == good);
    CHECK(order.ran() == std::vector{1, 2});
}

TEST_CASE("a stream may be destroyed while its work is pending") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream(non_blocking), other = make_stream();
    const CUevent event = make_event();
    order.launch_many(stream, 10);
    REQUIRE(d.cuEventRecord(event, stream) == good);
    destroy(stream);
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed stream");
    CHECK(leaks().size() == 2); // the event and the other stream
    REQUIRE(d.cuStreamWaitEvent(other, event, 0) == good);
    destroy(event); // while a stream waits for it
    REQUIRE(order.launch(other, 10) == good);
    CHECK(d.cuStreamSynchronize(other) == good);
    CHECK(order.ran() == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    destroy(other);
    CHECK(d.cuCtxSynchronize() == good);
}

TEST_CASE("resetting a primary context runs its pending work first") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream();
    REQUIRE(order.launch(stream, 1) == good);
    REQUIRE(order.launch(nullptr, 2) == good);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(order.ran() == std::vector{1, 2});
}

TEST_CASE("resetting the simulator drops pending work") {
    start(GENERATE(as<std::string>{}, "mode=adversarial", "mode=immediate", "mode=threaded"));
    RunOrder order;
    PinnedWord word;
    const CUstream stream = make_stream();
    REQUIRE(d.cuStreamWaitValue32_v2(stream, word.address, 1, CU_STREAM_WAIT_VALUE_EQ) == good);
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
    REQUIRE(d.cuStreamWaitValue32_v2(one, word.address, 1, CU_STREAM_WAIT_VALUE_EQ) == good);
    const CUevent event = make_event();
    for (int i = 0; i < 4000; ++i) {
        REQUIRE(d.cuEventRecord(event, i % 2 != 0 ? one : two) == good);
        REQUIRE(d.cuStreamWaitEvent(i % 2 != 0 ? two : one, event, 0) == good);
    }
    const bool dropped = GENERATE(true, false);
    if (dropped) {
        sim_control().reset();
        return;
    }
    word.value->store(1);
    CHECK(d.cuEventSynchronize(event) == good);
    CHECK(d.cuCtxSynchronize() == good);
    destroy(event);
    destroy(one);
    destroy(two);
}
