// Events: records, waits, the contexts they belong to, and the time between them.
#include "memory_tools.hpp"
#include "plan_fault.hpp"
#include "run_order.hpp"

using namespace sim_test;

TEST_CASE("a stream waits for the record that was newest when the wait was enqueued") {
    bool second_missed = false;
    for (unsigned int seed = 1; seed <= 30; ++seed) {
        start(adversarial(seed));
        RunOrder order;
        const Stream one(non_blocking), two(non_blocking);
        const Event event;
        require_ok(order.launch(one, 1));
        require_ok(driver().cuEventRecord(event, one));
        require_ok(driver().cuStreamWaitEvent(two, event, 0));
        require_ok(order.launch(one, 2));
        require_ok(driver().cuEventRecord(event, one));
        require_ok(order.launch(two, 3));
        require_ok(driver().cuStreamSynchronize(two));
        CHECK(order.has(1));
        second_missed = second_missed || !order.has(2);
        require_ok(driver().cuEventSynchronize(event));
        CHECK(order.has(2));
    }
    CHECK(second_missed);
}

TEST_CASE("a recorded event is NOT_READY until the work before it has completed") {
    start(adversarial(1));
    RunOrder order;
    const Stream stream;
    const Event event, before;
    require_ok(driver().cuEventRecord(before, stream));
    require_ok(order.launch(stream, 1));
    require_ok(driver().cuEventRecord(event, stream));
    CHECK(driver().cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    float time = -1;
    CHECK(driver().cuEventElapsedTime(&time, before, event) == CUDA_ERROR_NOT_READY);
    CHECK(time == -1);
    while (driver().cuEventElapsedTime(&time, before, event) == CUDA_ERROR_NOT_READY) {
    }
    CHECK(time > 0);
    ok(driver().cuEventQuery(event));
    CHECK(order.has(1));
}

TEST_CASE("an event cannot be recorded in a stream of another context") {
    start("devices=2");
    const Event event;
    const OnDevice second(1);
    const Stream stream;
    for (const CUstream wrong : {stream.get(), CUstream(nullptr)}) {
        check_misuse(driver().cuEventRecord(event, wrong), CUDA_ERROR_INVALID_HANDLE,
                     "record of an event in a stream of another context: event ");
    }
}

TEST_CASE("an external wait fails with ILLEGAL_STATE outside of a capture") {
    CHECK(driver().cuStreamWaitEvent(nullptr, Event(), CU_EVENT_WAIT_EXTERNAL) ==
          CUDA_ERROR_ILLEGAL_STATE);
}

TEST_CASE("the elapsed time of two events is the time of the work between them") {
    start(
        GENERATE(as<std::string>{}, "mode=immediate", "mode=threaded", "mode=adversarial;seed=9"));
    RunOrder order;
    const Stream stream;
    const Event first, second(CU_EVENT_BLOCKING_SYNC);
    require_ok(driver().cuEventRecord(first, stream));
    order.launch_many(stream, 9);
    require_ok(driver().cuEventRecord(second, stream));
    require_ok(driver().cuEventSynchronize(second));
    float time = 0, back = 0;
    ok(driver().cuEventElapsedTime(&time, first, second));
    CHECK(time > 0.0999f); // ten operations of 10 microseconds
    CHECK(time < 0.1001f);
    CHECK(got(driver().cuEventElapsedTime(&back, second, first), back) == -time);
    CHECK(got(driver().cuEventElapsedTime(&back, first, first), back) == 0);
    // The entry point of the first ABI measures the same.
    CHECK(got(driver().cuEventElapsedTime_v1(&back, first, second), back) == time);
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
                require_ok(driver().cuEventRecord(begin, one));
                order.launch_many(one, 9);
                require_ok(driver().cuEventRecord(other, two));
                if (round % 2 == 1) {
                    require_ok(driver().cuStreamWaitEvent(one, other, 0));
                }
                require_ok(driver().cuEventRecord(end, one));
                require_ok(driver().cuCtxSynchronize());
                auto time = got<float>(&Driver::cuEventElapsedTime, out, begin, end);
                times.push_back(time);
                ok(driver().cuEventElapsedTime(&time, begin, other));
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
        return got<float>(&Driver::cuEventElapsedTime, out, first, second);
    };
    // A stream without work so far waits for a stream with much work.
    order.launch_many(one, 10);
    require_ok(driver().cuEventRecord(first, one));
    require_ok(driver().cuStreamWaitEvent(two, first, 0));
    require_ok(driver().cuEventRecord(second, two));
    require_ok(driver().cuStreamSynchronize(two));
    CHECK(time_between() > 0);
    // Work enqueued after the host has waited starts later than the work it waited for.
    require_ok(driver().cuEventRecord(second, blocking));
    require_ok(driver().cuEventSynchronize(second));
    CHECK(time_between() > 0);
    // The legacy stream runs after earlier work of blocking streams.
    order.launch_many(blocking, 20);
    require_ok(driver().cuEventRecord(first, blocking));
    require_ok(driver().cuEventRecord(second, nullptr));
    require_ok(driver().cuCtxSynchronize());
    CHECK(time_between() > 0);
}

TEST_CASE("an invalid event handle fails and is reported by its kind") {
    const Stream stream;
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(driver().cuEventQuery(reinterpret_cast<CUevent>(stream.get())), refused,
                 "event handle was expected, but this is stream");
    const CUevent event = make_event();
    destroy(event);
    check_misuse(driver().cuEventRecord(event, stream), refused, "use of a destroyed event");
    check_misuse(driver().cuEventDestroy(event), refused, "use of a destroyed event");
    float time = 0;
    const Event valid;
    require_ok(driver().cuEventRecord(valid, nullptr));
    check_all(refused, {driver().cuEventElapsedTime(&time, nullptr, valid),
                        driver().cuEventElapsedTime(&time, valid, nullptr)});
}

TEST_CASE("waits return if the record of their event is planned to fail") {
    start("patience=5000;" + GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Stream one(non_blocking), two(non_blocking);
    const Event event(GENERATE(0u, 2u, 6u)); // 6: an interprocess event
    SECTION("with an error that leaves the context usable") {
        fail_work("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY);
        require_ok(driver().cuEventRecord(event, one));
        require_ok(driver().cuStreamWaitEvent(two, event, 0));
        require_ok(order.launch(two, 1));
        CHECK(driver().cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(driver().cuEventSynchronize(event) ==
              CUDA_ERROR_OUT_OF_MEMORY); // repeated for the record itself
        CHECK(driver().cuEventQuery(event) == CUDA_ERROR_OUT_OF_MEMORY);
        ok(driver().cuStreamSynchronize(two)); // not reported to other streams
        CHECK(order.has(1));
        // A new record replaces the failed one.
        require_ok(driver().cuEventRecord(event, one));
        ok(driver().cuEventSynchronize(event));
    }
    SECTION("after other work has failed") {
        fail_work("cuLaunchHostFunc", CUDA_ERROR_NOT_FOUND);
        fail_work("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY);
        require_ok(order.launch(one, 1));
        require_ok(driver().cuEventRecord(event, one));
        CHECK(driver().cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(driver().cuStreamSynchronize(one) == CUDA_ERROR_NOT_FOUND);
    }
}

TEST_CASE("waiting for a record that fails the context returns its error") {
    start("patience=5000;" + GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream(non_blocking);
    const CUevent event = make_event(GENERATE(0u, 2u, 6u));
    fail_work("cuEventRecord", CUDA_ERROR_LAUNCH_FAILED);
    require_ok(driver().cuEventRecord(event, stream));
    CHECK(driver().cuEventSynchronize(event) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(driver().cuEventQuery(event) == CUDA_ERROR_LAUNCH_FAILED);
    ok(driver().cuDevicePrimaryCtxReset(0)); // also destroys the stream and the event
}

TEST_CASE("an event outlives the stream that it was recorded in") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream();
    const Event event;
    require_ok(order.launch(stream, 1));
    require_ok(driver().cuEventRecord(event, stream));
    destroy(stream);
    ok(driver().cuEventSynchronize(event));
    CHECK(order.has(1));
    ok(driver().cuEventQuery(event));
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
        require_ok(order.launch(one, 1));
        require_ok(order.launch(two, 2));
        require_ok(driver().cuCtxRecordEvent(first, event));
        require_ok(order.launch(two, 3));
        {
            const OnDevice second(1);
            CHECK(driver().cuCtxRecordEvent(second.context, event) == CUDA_ERROR_INVALID_HANDLE);
            require_ok(driver().cuCtxWaitEvent(second.context, event));
            const Stream later(non_blocking);
            require_ok(order.launch(later, 4));
            require_ok(driver().cuStreamSynchronize(later));
            CHECK(order.has(1));
            CHECK(order.has(2));
            missed = missed || !order.has(3);
        }
        ok(driver().cuCtxSynchronize());
    }
    CHECK(missed);
}

#endif
