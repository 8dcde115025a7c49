// Events: what they stand for, who may record them, and the time between them.
#include "plan_fault.hpp"
#include "run_order.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <set>
#include <thread>
#include <vector>

using namespace sim_test;

namespace {

cushim::DriverTable d() {
    return cushim::driver();
}

} // namespace

TEST_CASE("event flags are checked", "[event]") {
    start();
    CUevent event = nullptr;
    CHECK(d().cuEventCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuEventCreate(&event, 8) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuEventCreate(&event, 0x80000000u) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuEventCreate(&event, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);
    for (const unsigned int good : {0, 1, 2, 3, 6, 7}) {
        CHECK(d().cuEventCreate(&event, good) == CUDA_SUCCESS);
        destroy(event);
    }
    CUcontext context = nullptr;
    REQUIRE(d().cuCtxPopCurrent(&context) == CUDA_SUCCESS);
    CHECK(d().cuEventCreate(&event, 0) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("an event can be destroyed without a current context", "[event]") {
    start();
    const CUevent event = make_event();
    CUcontext context = nullptr;
    REQUIRE(d().cuCtxPopCurrent(&context) == CUDA_SUCCESS);
    CHECK(d().cuEventQuery(event) == CUDA_SUCCESS);
    destroy(event);
}

TEST_CASE("an event that was never recorded is done", "[event]") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUevent event = make_event();
    const CUstream stream = make_stream();
    CHECK(d().cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(d().cuEventSynchronize(event) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    destroy(event);
    destroy(stream);
}

TEST_CASE("a wait is for the record that was newest when it was queued", "[event]") {
    bool second_missed = false;
    for (unsigned int seed = 1; seed <= 30; ++seed) {
        start(adversarial(seed));
        RunOrder order;
        const CUstream one = make_stream(CU_STREAM_NON_BLOCKING),
                       two = make_stream(CU_STREAM_NON_BLOCKING);
        const CUevent event = make_event();
        REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
        REQUIRE(d().cuEventRecord(event, one) == CUDA_SUCCESS);
        REQUIRE(d().cuStreamWaitEvent(two, event, 0) == CUDA_SUCCESS);
        REQUIRE(order.launch(one, 2) == CUDA_SUCCESS);
        REQUIRE(d().cuEventRecord(event, one) == CUDA_SUCCESS);
        REQUIRE(order.launch(two, 3) == CUDA_SUCCESS);
        REQUIRE(d().cuStreamSynchronize(two) == CUDA_SUCCESS);
        CHECK(order.has(1));
        second_missed = second_missed || !order.has(2);
        REQUIRE(d().cuEventSynchronize(event) == CUDA_SUCCESS);
        CHECK(order.has(2));
        destroy(event);
        destroy(one);
        destroy(two);
    }
    CHECK(second_missed);
}

TEST_CASE("a record that waits for work answers 600 until that is done", "[event]") {
    start(adversarial(1));
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent event = make_event(), before = make_event();
    REQUIRE(d().cuEventRecord(before, stream) == CUDA_SUCCESS);
    REQUIRE(order.launch(stream, 1) == CUDA_SUCCESS);
    REQUIRE(d().cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(d().cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    float time = -1;
    CHECK(d().cuEventElapsedTime(&time, before, event) == CUDA_ERROR_NOT_READY);
    CHECK(time == -1);
    while (d().cuEventElapsedTime(&time, before, event) == CUDA_ERROR_NOT_READY) {
    }
    CHECK(time > 0);
    CHECK(d().cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(order.has(1));
    destroy(event);
    destroy(before);
    destroy(stream);
}

TEST_CASE("an event is recorded in streams of its own context only", "[event]") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    CUcontext first = nullptr, second = nullptr;
    REQUIRE(d().cuCtxGetCurrent(&first) == CUDA_SUCCESS);
    const CUevent event = make_event();
    REQUIRE(d().cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
    REQUIRE(d().cuCtxSetCurrent(second) == CUDA_SUCCESS);
    const CUstream stream = make_stream();
    for (const CUstream wrong : {stream, CUstream(nullptr)}) {
        CHECK(d().cuEventRecord(event, wrong) == CUDA_ERROR_INVALID_HANDLE);
        expect_misuse("record of an event in a stream of another context: event ");
    }
    CHECK(d().cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    destroy(stream);
    REQUIRE(d().cuCtxSetCurrent(first) == CUDA_SUCCESS);
    CHECK(d().cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    destroy(event);
}

TEST_CASE("flags that only a capture understands are refused outside of one", "[event]") {
    start();
    const CUevent event = make_event();
    CHECK(d().cuEventRecordWithFlags(event, nullptr, CU_EVENT_RECORD_DEFAULT) == CUDA_SUCCESS);
    CHECK(d().cuEventRecordWithFlags(event, nullptr, CU_EVENT_RECORD_EXTERNAL) ==
          CUDA_ERROR_ILLEGAL_STATE);
    CHECK(d().cuEventRecordWithFlags(event, nullptr, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuStreamWaitEvent(nullptr, event, CU_EVENT_WAIT_EXTERNAL) ==
          CUDA_ERROR_ILLEGAL_STATE);
    CHECK(d().cuStreamWaitEvent(nullptr, event, 2) == CUDA_ERROR_INVALID_VALUE);
    destroy(event);
}

TEST_CASE("the time between events is the work between them", "[event]") {
    start(
        GENERATE(as<std::string>{}, "mode=immediate", "mode=threaded", "mode=adversarial;seed=9"));
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent first = make_event(), second = make_event(CU_EVENT_BLOCKING_SYNC);
    REQUIRE(d().cuEventRecord(first, stream) == CUDA_SUCCESS);
    for (int i = 0; i < 9; ++i) {
        REQUIRE(order.launch(stream, i) == CUDA_SUCCESS);
    }
    REQUIRE(d().cuEventRecord(second, stream) == CUDA_SUCCESS);
    REQUIRE(d().cuEventSynchronize(second) == CUDA_SUCCESS);
    float time = 0, back = 0;
    CHECK(d().cuEventElapsedTime(&time, first, second) == CUDA_SUCCESS);
    CHECK(time > 0.0999f); // ten operations of 10 microseconds
    CHECK(time < 0.1001f);
    CHECK(d().cuEventElapsedTime(&back, second, first) == CUDA_SUCCESS);
    CHECK(back == -time);
    CHECK(d().cuEventElapsedTime(&back, first, first) == CUDA_SUCCESS);
    CHECK(back == 0);
    // The first ABI measures the same.
    const auto old =
        reinterpret_cast<CUresult (*)(float *, CUevent, CUevent)>(exported("cuEventElapsedTime"));
    REQUIRE(old != nullptr);
    CHECK(old(&back, first, second) == CUDA_SUCCESS);
    CHECK(back == time);
    destroy(first);
    destroy(second);
    destroy(stream);
}

TEST_CASE("times are the same in every mode, and in every run", "[event]") {
    std::set<std::vector<float>> seen;
    for (const auto &mode : all_modes()) {
        for (int run = 0; run < 4; ++run) {
            start(mode);
            RunOrder order;
            const CUstream one = make_stream(CU_STREAM_NON_BLOCKING),
                           two = make_stream(CU_STREAM_NON_BLOCKING);
            const CUevent begin = make_event(), end = make_event(), other = make_event();
            std::vector<float> times;
            for (int round = 0; round < 20; ++round) {
                for (int i = 0; i < 5; ++i) {
                    REQUIRE(order.launch(two, i) == CUDA_SUCCESS); // beside it
                }
                REQUIRE(d().cuEventRecord(begin, one) == CUDA_SUCCESS);
                for (int i = 0; i < 9; ++i) {
                    REQUIRE(order.launch(one, i) == CUDA_SUCCESS);
                }
                REQUIRE(d().cuEventRecord(other, two) == CUDA_SUCCESS);
                if (round % 2 == 1) {
                    REQUIRE(d().cuStreamWaitEvent(one, other, 0) == CUDA_SUCCESS);
                }
                REQUIRE(d().cuEventRecord(end, one) == CUDA_SUCCESS);
                REQUIRE(d().cuCtxSynchronize() == CUDA_SUCCESS);
                float time = 0;
                CHECK(d().cuEventElapsedTime(&time, begin, end) == CUDA_SUCCESS);
                times.push_back(time);
                CHECK(d().cuEventElapsedTime(&time, begin, other) == CUDA_SUCCESS);
                times.push_back(time);
            }
            seen.insert(times);
            destroy(begin);
            destroy(end);
            destroy(other);
            destroy(one);
            destroy(two);
        }
    }
    REQUIRE(seen.size() == 1);
    const auto near = [](float time, float expected) {
        return time > expected - 0.0001f && time < expected + 0.0001f;
    };
    const std::vector<float> &times = *seen.begin();
    CHECK(near(times[0], 0.1f));  // its own stream's work, and nothing else
    CHECK(near(times[1], 0.05f)); // five operations beside the record itself
    CHECK(near(times[2], 0.11f)); // the wait is one more
}

TEST_CASE("time goes on with what comes after what: events, the host, the legacy stream",
          "[event]") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream one = make_stream(CU_STREAM_NON_BLOCKING),
                   two = make_stream(CU_STREAM_NON_BLOCKING), blocking = make_stream();
    const CUevent first = make_event(), second = make_event();
    const auto time_between = [&] {
        float time = -1;
        CHECK(d().cuEventElapsedTime(&time, first, second) == CUDA_SUCCESS);
        return time;
    };
    // A stream that did nothing so far waits for one that did much.
    for (int i = 0; i < 10; ++i) {
        REQUIRE(order.launch(one, i) == CUDA_SUCCESS);
    }
    REQUIRE(d().cuEventRecord(first, one) == CUDA_SUCCESS);
    REQUIRE(d().cuStreamWaitEvent(two, first, 0) == CUDA_SUCCESS);
    REQUIRE(d().cuEventRecord(second, two) == CUDA_SUCCESS);
    REQUIRE(d().cuStreamSynchronize(two) == CUDA_SUCCESS);
    CHECK(time_between() > 0);
    // What is queued after the host has waited comes later than what it waited for.
    REQUIRE(d().cuEventRecord(second, blocking) == CUDA_SUCCESS);
    REQUIRE(d().cuEventSynchronize(second) == CUDA_SUCCESS);
    CHECK(time_between() > 0);
    // The legacy stream comes after blocking streams, done or not.
    for (int i = 0; i < 20; ++i) {
        REQUIRE(order.launch(blocking, i) == CUDA_SUCCESS);
    }
    REQUIRE(d().cuEventRecord(first, blocking) == CUDA_SUCCESS);
    REQUIRE(d().cuEventRecord(second, nullptr) == CUDA_SUCCESS);
    REQUIRE(d().cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(time_between() > 0);
    destroy(first);
    destroy(second);
    destroy(one);
    destroy(two);
    destroy(blocking);
}

TEST_CASE("times that cannot be told", "[event]") {
    start("devices=2");
    const CUevent never = make_event(), untimed = make_event(CU_EVENT_DISABLE_TIMING),
                  good = make_event();
    REQUIRE(d().cuEventRecord(untimed, nullptr) == CUDA_SUCCESS);
    REQUIRE(d().cuEventRecord(good, nullptr) == CUDA_SUCCESS);
    float time = 0;
    CHECK(d().cuEventElapsedTime(&time, never, good) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d().cuEventElapsedTime(&time, good, never) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d().cuEventElapsedTime(&time, untimed, good) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d().cuEventElapsedTime(&time, good, untimed) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d().cuEventElapsedTime(&time, good, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d().cuEventElapsedTime(nullptr, good, good) == CUDA_ERROR_INVALID_HANDLE);
    destroy(never);
    destroy(untimed);
    destroy(good);
}

TEST_CASE("what is no event is refused and named", "[event]") {
    start();
    const CUstream stream = make_stream();
    CHECK(d().cuEventDestroy(nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d().cuEventQuery(nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d().cuEventRecord(nullptr, stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d().cuStreamWaitEvent(stream, nullptr, 0) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(misuses().empty());
    CHECK(d().cuEventQuery(reinterpret_cast<CUevent>(stream)) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("event was expected, this is stream");
    const CUevent event = make_event();
    destroy(event);
    CHECK(d().cuEventRecord(event, stream) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed event");
    CHECK(d().cuEventDestroy(event) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed event");
    destroy(stream);
}

TEST_CASE("an event of a context that was reset answers 709", "[event]") {
    start();
    const CUevent event = make_event();
    REQUIRE(d().cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CHECK(d().cuEventQuery(event) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d().cuEventDestroy(event) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("nobody waits for a record that was planned to fail", "[event]") {
    start("patience=5000;" + GENERATE_COPY(from_range(all_modes())));
    const unsigned int flags = GENERATE(0u, 2u, 6u); // 6: one that processes share
    RunOrder order;
    const CUstream one = make_stream(CU_STREAM_NON_BLOCKING),
                   two = make_stream(CU_STREAM_NON_BLOCKING);
    const CUevent event = make_event(flags);
    SECTION("with an error that its context survives") {
        fail_work("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY);
        REQUIRE(d().cuEventRecord(event, one) == CUDA_SUCCESS);
        REQUIRE(d().cuStreamWaitEvent(two, event, 0) == CUDA_SUCCESS);
        REQUIRE(order.launch(two, 1) == CUDA_SUCCESS);
        CHECK(d().cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(d().cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY); // it is its own
        CHECK(d().cuEventQuery(event) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(d().cuStreamSynchronize(two) == CUDA_SUCCESS); // others are not told once more
        CHECK(order.has(1));
        // The next record is another one.
        REQUIRE(d().cuEventRecord(event, one) == CUDA_SUCCESS);
        CHECK(d().cuEventSynchronize(event) == CUDA_SUCCESS);
        destroy(event);
        destroy(one);
        destroy(two);
    }
    SECTION("though other work failed before it") {
        fail_work("cuLaunchHostFunc", CUDA_ERROR_NOT_FOUND);
        fail_work("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY);
        REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
        REQUIRE(d().cuEventRecord(event, one) == CUDA_SUCCESS);
        CHECK(d().cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(d().cuStreamSynchronize(one) == CUDA_ERROR_NOT_FOUND);
        destroy(event);
        destroy(one);
        destroy(two);
    }
    SECTION("with one that makes its context fail") {
        fail_work("cuEventRecord", CUDA_ERROR_LAUNCH_FAILED);
        REQUIRE(d().cuEventRecord(event, one) == CUDA_SUCCESS);
        CHECK(d().cuEventSynchronize(event) == CUDA_ERROR_LAUNCH_FAILED);
        CHECK(d().cuEventQuery(event) == CUDA_ERROR_LAUNCH_FAILED);
        CHECK(d().cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS); // which ends all three
    }
}

TEST_CASE("an event outlives the stream that recorded it", "[event]") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent event = make_event();
    REQUIRE(order.launch(stream, 1) == CUDA_SUCCESS);
    REQUIRE(d().cuEventRecord(event, stream) == CUDA_SUCCESS);
    destroy(stream);
    CHECK(d().cuEventSynchronize(event) == CUDA_SUCCESS);
    CHECK(order.has(1));
    CHECK(d().cuEventQuery(event) == CUDA_SUCCESS);
    destroy(event);
}

TEST_CASE("an event that threads wait for can be destroyed by another", "[event]") {
    start("mode=threaded");
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent event = make_event();
    for (int i = 0; i < 100; ++i) {
        REQUIRE(order.launch(stream, i) == CUDA_SUCCESS);
    }
    REQUIRE(d().cuEventRecord(event, stream) == CUDA_SUCCESS);
    std::thread waiter([&] {
        const CUresult status = d().cuEventSynchronize(event);
        CHECK((status == CUDA_SUCCESS || status == CUDA_ERROR_INVALID_HANDLE));
    });
    destroy(event);
    waiter.join();
    CHECK(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    if (!misuses().empty()) {
        expect_misuse("use of a destroyed event"); // it came too late
    }
    destroy(stream);
}

#if CUDA_VERSION >= 12050
TEST_CASE("an event of a context stands for all its work, and holds all that comes", "[event]") {
    bool missed = false;
    for (unsigned int seed = 1; seed <= 30; ++seed) {
        start("devices=2;" + adversarial(seed));
        RunOrder order;
        CUcontext first = nullptr, second = nullptr;
        REQUIRE(d().cuCtxGetCurrent(&first) == CUDA_SUCCESS);
        const CUstream one = make_stream(CU_STREAM_NON_BLOCKING), two = make_stream();
        const CUevent event = make_event();
        REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
        REQUIRE(order.launch(two, 2) == CUDA_SUCCESS);
        REQUIRE(d().cuCtxRecordEvent(first, event) == CUDA_SUCCESS);
        REQUIRE(order.launch(two, 3) == CUDA_SUCCESS);
        REQUIRE(d().cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
        CHECK(d().cuCtxRecordEvent(second, event) == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE(d().cuCtxWaitEvent(second, event) == CUDA_SUCCESS);
        REQUIRE(d().cuCtxSetCurrent(second) == CUDA_SUCCESS);
        const CUstream later = make_stream(CU_STREAM_NON_BLOCKING);
        REQUIRE(order.launch(later, 4) == CUDA_SUCCESS);
        REQUIRE(d().cuStreamSynchronize(later) == CUDA_SUCCESS);
        CHECK(order.has(1));
        CHECK(order.has(2));
        missed = missed || !order.has(3);
        destroy(later);
        REQUIRE(d().cuCtxSetCurrent(first) == CUDA_SUCCESS);
        destroy(event);
        destroy(one);
        destroy(two);
        CHECK(d().cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
        CHECK(d().cuCtxSynchronize() == CUDA_SUCCESS);
    }
    CHECK(missed);
}
#endif
