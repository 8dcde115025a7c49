// Events: records, waits, the contexts they belong to, and the time between them.
#include "memory_tools.hpp"
#include "plan_fault.hpp"
#include "run_order.hpp"

using namespace sim_test;

TEST_CASE("event flags are checked") {
    CUevent event = nullptr;
    check_all(invalid, {d.cuEventCreate(nullptr, 0), d.cuEventCreate(&event, 8),
                        d.cuEventCreate(&event, 0x80000000u),
                        d.cuEventCreate(&event, CU_EVENT_INTERPROCESS)});
    for (const unsigned int valid : {0, 1, 2, 3, 6, 7}) {
        const Event made(valid);
    }
    const Event made;
    pop_current();
    CHECK(d.cuEventCreate(&event, 0) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuEventQuery(made) == good); // it can also be destroyed without a context
}

TEST_CASE("an event that was never recorded is complete") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Event event;
    const Stream stream;
    CHECK(d.cuEventQuery(event) == good);
    CHECK(d.cuEventSynchronize(event) == good);
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == good);
    CHECK(order.launch(stream, 1) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
}

TEST_CASE("a stream waits for the record that was newest when the wait was enqueued") {
    bool second_missed = false;
    for (unsigned int seed = 1; seed <= 30; ++seed) {
        start(adversarial(seed));
        RunOrder order;
        const Stream one(non_blocking), two(non_blocking);
        const Event event;
        REQUIRE(order.launch(one, 1) == good);
        REQUIRE(d.cuEventRecord(event, one) == good);
        REQUIRE(d.cuStreamWaitEvent(two, event, 0) == good);
        REQUIRE(order.launch(one, 2) == good);
        REQUIRE(d.cuEventRecord(event, one) == good);
        REQUIRE(order.launch(two, 3) == good);
        REQUIRE(d.cuStreamSynchronize(two) == good);
        CHECK(order.has(1));
        second_missed = second_missed || !order.has(2);
        REQUIRE(d.cuEventSynchronize(event) == good);
        CHECK(order.has(2));
    }
    CHECK(second_missed);
}

TEST_CASE("a recorded event is NOT_READY until the work before it has completed") {
    start(adversarial(1));
    RunOrder order;
    const Stream stream;
    const Event event, before;
    REQUIRE(d.cuEventRecord(before, stream) == good);
    REQUIRE(order.launch(stream, 1) == good);
    REQUIRE(d.cuEventRecord(event, stream) == good);
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    float time = -1;
    CHECK(d.cuEventElapsedTime(&time, before, event) == CUDA_ERROR_NOT_READY);
    CHECK(time == -1);
    while (d.cuEventElapsedTime(&time, before, event) == CUDA_ERROR_NOT_READY) {
    }
    CHECK(time > 0);
    CHECK(d.cuEventQuery(event) == good);
    CHECK(order.has(1));
}

TEST_CASE("an event cannot be recorded in a stream of another context") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    const Event event;
    const OnDevice second(1);
    const Stream stream;
    for (const CUstream wrong : {stream.get(), CUstream(nullptr)}) {
        check_misuse(d.cuEventRecord(event, wrong), CUDA_ERROR_INVALID_HANDLE,
                     "record of an event in a stream of another context: event ");
    }
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
}

TEST_CASE("external record and wait flags fail with ILLEGAL_STATE outside of a capture") {
    const Event event;
    CHECK(d.cuEventRecordWithFlags(event, nullptr, CU_EVENT_RECORD_DEFAULT) == good);
    CHECK(d.cuEventRecordWithFlags(event, nullptr, CU_EVENT_RECORD_EXTERNAL) ==
          CUDA_ERROR_ILLEGAL_STATE);
    CHECK(d.cuEventRecordWithFlags(event, nullptr, 2) == invalid);
    CHECK(d.cuStreamWaitEvent(nullptr, event, CU_EVENT_WAIT_EXTERNAL) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(d.cuStreamWaitEvent(nullptr, event, 2) == invalid);
}

TEST_CASE("the elapsed time of two events is the time of the work between them") {
    start(
        GENERATE(as<std::string>{}, "mode=immediate", "mode=threaded", "mode=adversarial;seed=9"));
    RunOrder order;
    const Stream stream;
    const Event first, second(CU_EVENT_BLOCKING_SYNC);
    REQUIRE(d.cuEventRecord(first, stream) == good);
    order.launch_many(stream, 9);
    REQUIRE(d.cuEventRecord(second, stream) == good);
    REQUIRE(d.cuEventSynchronize(second) == good);
    float time = 0, back = 0;
    CHECK(d.cuEventElapsedTime(&time, first, second) == good);
    CHECK(time > 0.0999f); // ten operations of 10 microseconds
    CHECK(time < 0.1001f);
    CHECK(got(d.cuEventElapsedTime(&back, second, first), back) == -time);
    CHECK(got(d.cuEventElapsedTime(&back, first, first), back) == 0);
    // The entry point of the first ABI measures the same.
    const auto old = exported_as<CUresult (*)(float *, CUevent, CUevent)>("cuEventElapsedTime");
    CHECK(old(&back, first, second) == good);
    CHECK(back == time);
}

TEST_CASE("elapsed times are equal in every mode and every run") {
    std::set<std::vector<float>> seen;
    for (const auto &mode : all_modes()) {
        for (int run = 0; run < 4; ++run) {
            start(mode);
            RunOrder order;
            const Stream one(non_blocking), two(non_blocking);
            const Event begin, end, other;
            std::vector<float> times;
            for (int round = 0; round < 20; ++round) {
                order.launch_many(two, 5);
                REQUIRE(d.cuEventRecord(begin, one) == good);
                order.launch_many(one, 9);
                REQUIRE(d.cuEventRecord(other, two) == good);
                if (round % 2 == 1) {
                    REQUIRE(d.cuStreamWaitEvent(one, other, 0) == good);
                }
                REQUIRE(d.cuEventRecord(end, one) == good);
                REQUIRE(d.cuCtxSynchronize() == good);
                float time = 0;
                CHECK(d.cuEventElapsedTime(&time, begin, end) == good);
                times.push_back(time);
                CHECK(d.cuEventElapsedTime(&time, begin, other) == good);
                times.push_back(time);
            }
            seen.insert(times);
        }
    }
    REQUIRE(seen.size() == 1);
    const auto near = [](float time, float expected) {
        return time > expected - 0.0001f && time < expected + 0.0001f;
    };
    const std::vector<float> &times = *seen.begin();
    CHECK(near(times[0], 0.1f));  // only the work of its own stream
    CHECK(near(times[1], 0.05f)); // five operations of the other stream
    CHECK(near(times[2], 0.11f)); // the wait counts as one more
}

TEST_CASE("simulated time advances across event waits, host waits and the legacy stream") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream one(non_blocking), two(non_blocking), blocking;
    const Event first, second;
    const auto time_between = [&] {
        float time = -1;
        CHECK(d.cuEventElapsedTime(&time, first, second) == good);
        return time;
    };
    // A stream without work so far waits for a stream with much work.
    order.launch_many(one, 10);
    REQUIRE(d.cuEventRecord(first, one) == good);
    REQUIRE(d.cuStreamWaitEvent(two, first, 0) == good);
    REQUIRE(d.cuEventRecord(second, two) == good);
    REQUIRE(d.cuStreamSynchronize(two) == good);
    CHECK(time_between() > 0);
    // Work enqueued after the host has waited starts later than the work it waited for.
    REQUIRE(d.cuEventRecord(second, blocking) == good);
    REQUIRE(d.cuEventSynchronize(second) == good);
    CHECK(time_between() > 0);
    // The legacy stream runs after earlier work of blocking streams.
    order.launch_many(blocking, 20);
    REQUIRE(d.cuEventRecord(first, blocking) == good);
    REQUIRE(d.cuEventRecord(second, nullptr) == good);
    REQUIRE(d.cuCtxSynchronize() == good);
    CHECK(time_between() > 0);
}

TEST_CASE("cuEventElapsedTime fails for events that were not recorded or have timing disabled") {
    const Event never, untimed(CU_EVENT_DISABLE_TIMING), valid;
    REQUIRE(d.cuEventRecord(untimed, nullptr) == good);
    REQUIRE(d.cuEventRecord(valid, nullptr) == good);
    float time = 0;
    for (const CUevent bad : {never.get(), untimed.get(), CUevent(nullptr)}) {
        CHECK(d.cuEventElapsedTime(&time, bad, valid) == CUDA_ERROR_INVALID_HANDLE);
        CHECK(d.cuEventElapsedTime(&time, valid, bad) == CUDA_ERROR_INVALID_HANDLE);
    }
    CHECK(d.cuEventElapsedTime(nullptr, valid, valid) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("an invalid event handle fails and is reported by its kind") {
    const Stream stream;
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_all(refused, {d.cuEventDestroy(nullptr), d.cuEventQuery(nullptr),
                        d.cuEventRecord(nullptr, stream), d.cuStreamWaitEvent(stream, nullptr, 0)});
    CHECK(misuses().empty());
    check_misuse(d.cuEventQuery(reinterpret_cast<CUevent>(stream.get())), refused,
                 "event handle was expected, but this is stream");
    const CUevent event = make_event();
    destroy(event);
    check_misuse(d.cuEventRecord(event, stream), refused, "use of a destroyed event");
    check_misuse(d.cuEventDestroy(event), refused, "use of a destroyed event");
}

TEST_CASE("waits return if the record of their event is planned to fail") {
    start("patience=5000;" + GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream one(non_blocking), two(non_blocking);
    const Event event(GENERATE(0u, 2u, 6u)); // 6: an interprocess event
    SECTION("with an error that leaves the context usable") {
        fail_work("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY);
        REQUIRE(d.cuEventRecord(event, one) == good);
        REQUIRE(d.cuStreamWaitEvent(two, event, 0) == good);
        REQUIRE(order.launch(two, 1) == good);
        CHECK(d.cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(d.cuEventSynchronize(event) ==
              CUDA_ERROR_OUT_OF_MEMORY); // repeated for the record itself
        CHECK(d.cuEventQuery(event) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(d.cuStreamSynchronize(two) == good); // not reported to other streams
        CHECK(order.has(1));
        // A new record replaces the failed one.
        REQUIRE(d.cuEventRecord(event, one) == good);
        CHECK(d.cuEventSynchronize(event) == good);
    }
    SECTION("after other work has failed") {
        fail_work("cuLaunchHostFunc", CUDA_ERROR_NOT_FOUND);
        fail_work("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY);
        REQUIRE(order.launch(one, 1) == good);
        REQUIRE(d.cuEventRecord(event, one) == good);
        CHECK(d.cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(d.cuStreamSynchronize(one) == CUDA_ERROR_NOT_FOUND);
    }
}

TEST_CASE("waiting for a record that fails the context returns its error") {
    start("patience=5000;" + GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream(non_blocking);
    const CUevent event = make_event(GENERATE(0u, 2u, 6u));
    fail_work("cuEventRecord", CUDA_ERROR_LAUNCH_FAILED);
    REQUIRE(d.cuEventRecord(event, stream) == good);
    CHECK(d.cuEventSynchronize(event) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good); // also destroys the stream and the event
}

TEST_CASE("an event outlives the stream that it was recorded in") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream();
    const Event event;
    REQUIRE(order.launch(stream, 1) == good);
    REQUIRE(d.cuEventRecord(event, stream) == good);
    destroy(stream);
    CHECK(d.cuEventSynchronize(event) == good);
    CHECK(order.has(1));
    CHECK(d.cuEventQuery(event) == good);
}

#if CUDA_VERSION >= 12050
TEST_CASE("a context's event covers all earlier work and delays all later work") {
    bool missed = false;
    for (unsigned int seed = 1; seed <= 30; ++seed) {
        start("devices=2;" + adversarial(seed));
        RunOrder order;
        const CUcontext first = current();
        const Stream one(non_blocking), two;
        const Event event;
        REQUIRE(order.launch(one, 1) == good);
        REQUIRE(order.launch(two, 2) == good);
        REQUIRE(d.cuCtxRecordEvent(first, event) == good);
        REQUIRE(order.launch(two, 3) == good);
        {
            const OnDevice second(1);
            CHECK(d.cuCtxRecordEvent(second.context, event) == CUDA_ERROR_INVALID_HANDLE);
            REQUIRE(d.cuCtxWaitEvent(second.context, event) == good);
            const Stream later(non_blocking);
            REQUIRE(order.launch(later, 4) == good);
            REQUIRE(d.cuStreamSynchronize(later) == good);
            CHECK(order.has(1));
            CHECK(order.has(2));
            missed = missed || !order.has(3);
        }
        CHECK(d.cuCtxSynchronize() == good);
    }
    CHECK(missed);
}

#endif
