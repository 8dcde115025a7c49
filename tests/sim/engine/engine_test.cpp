// When queued work runs, and after what: the laws of streams, in every mode.
#include "pinned_word.hpp"
#include "run_order.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace sim_test;

TEST_CASE("work of one stream runs in its order", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = GENERATE(0, 1) != 0 ? make_stream() : nullptr;
    RunOrder order;
    std::vector<int> expected;
    for (int i = 0; i < 200; ++i) {
        REQUIRE(order.launch(stream, i) == CUDA_SUCCESS);
        expected.push_back(i);
    }
    CHECK(cushim::driver().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(order.ran() == expected);
    if (stream != nullptr) {
        destroy(stream);
    }
}

TEST_CASE("immediate mode has run the work when the call returns", "[engine]") {
    start();
    RunOrder order;
    CHECK(order.launch(nullptr, 1) == CUDA_SUCCESS);
    CHECK(order.has(1));
    CHECK(cushim::driver().cuStreamQuery(nullptr) == CUDA_SUCCESS);
}

TEST_CASE("adversarial mode runs nothing before somebody waits or asks", "[engine]") {
    start(adversarial(1));
    RunOrder order;
    CHECK(order.launch(nullptr, 1) == CUDA_SUCCESS);
    CHECK(order.ran().empty());
    int asked = 0; // the first questions change nothing
    while (cushim::driver().cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY) {
        ++asked;
    }
    CHECK(asked > 0);
    CHECK(cushim::driver().cuStreamQuery(nullptr) == CUDA_SUCCESS);
    CHECK(order.has(1));
}

TEST_CASE("polling ends in every mode", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream one = make_stream(), two = make_stream(CU_STREAM_NON_BLOCKING);
    const CUevent event = make_event();
    for (int i = 0; i < 20; ++i) {
        REQUIRE(order.launch(one, i) == CUDA_SUCCESS);
        REQUIRE(order.launch(two, 100 + i) == CUDA_SUCCESS);
    }
    REQUIRE(cushim::driver().cuEventRecord(event, one) == CUDA_SUCCESS);
    while (cushim::driver().cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
        std::this_thread::yield();
    }
    CHECK(order.has(19));
    CHECK(cushim::driver().cuStreamQuery(one) == CUDA_SUCCESS);
    while (cushim::driver().cuStreamQuery(two) == CUDA_ERROR_NOT_READY) {
        std::this_thread::yield();
    }
    CHECK(order.ran().size() == 40);
    destroy(event);
    destroy(one);
    destroy(two);
}

namespace {

// Whether the work that was queued first can be passed by that queued second.
bool ever_passed(CUstream (*first)(), CUstream (*second)(), unsigned int seeds) {
    bool passed = false;
    for (unsigned int seed = 1; seed <= seeds; ++seed) {
        start(adversarial(seed));
        const CUstream a = first(), b = second();
        RunOrder order;
        REQUIRE(order.launch(a, 1) == CUDA_SUCCESS);
        REQUIRE(order.launch(b, 2) == CUDA_SUCCESS);
        REQUIRE(cushim::driver().cuLaunchHostFunc(b, RunOrder::note, order.entry(3)) ==
                CUDA_SUCCESS);
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
CUstream non_blocking() {
    return make_stream(CU_STREAM_NON_BLOCKING);
}

} // namespace

TEST_CASE("the legacy stream waits for blocking streams, and they for it, and nobody else",
          "[engine]") {
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
        {"non-blocking, legacy", non_blocking, legacy, false},
        {"legacy, non-blocking", legacy, non_blocking, false},
        {"blocking, blocking", blocking, blocking, false},
        {"blocking, per-thread", blocking, per_thread, false},
        {"per-thread, blocking", per_thread, blocking, false},
        {"blocking, non-blocking", blocking, non_blocking, false},
        {"non-blocking, non-blocking", non_blocking, non_blocking, false},
        {"non-blocking, per-thread", non_blocking, per_thread, false},
    };
    for (const Rule &rule : rules) {
        INFO(rule.name);
        CHECK(ever_passed(rule.first, rule.second, 40) == !rule.ordered);
    }
}

TEST_CASE("an event of the legacy stream comes after all blocking streams", "[engine]") {
    const auto &d = cushim::driver();
    bool missed = false;
    for (unsigned int seed = 1; seed <= 40; ++seed) {
        start(adversarial(seed));
        RunOrder order;
        const CUstream one = make_stream(), two = make_stream(),
                       other = make_stream(CU_STREAM_NON_BLOCKING);
        const CUevent event = make_event();
        REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
        REQUIRE(order.launch(two, 2) == CUDA_SUCCESS);
        REQUIRE(order.launch(other, 3) == CUDA_SUCCESS);
        REQUIRE(d.cuEventRecord(event, nullptr) == CUDA_SUCCESS);
        REQUIRE(d.cuEventSynchronize(event) == CUDA_SUCCESS);
        CHECK(order.has(1));
        CHECK(order.has(2));
        missed = missed || !order.has(3);
        REQUIRE(d.cuCtxSynchronize() == CUDA_SUCCESS);
        CHECK(order.has(3));
        destroy(event);
        destroy(one);
        destroy(two);
        destroy(other);
    }
    CHECK(missed);
}

TEST_CASE("waiting for the legacy stream waits for blocking streams", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream();
    REQUIRE(order.launch(stream, 1) == CUDA_SUCCESS);
    CHECK(cushim::driver().cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
    CHECK(order.has(1));
    destroy(stream);
}

TEST_CASE("contexts do not wait for each other's legacy streams", "[engine]") {
    const auto &d = cushim::driver();
    bool passed = false;
    for (unsigned int seed = 1; seed <= 20; ++seed) {
        start("devices=2;" + adversarial(seed));
        RunOrder order;
        CUcontext first = nullptr, second = nullptr;
        REQUIRE(d.cuCtxGetCurrent(&first) == CUDA_SUCCESS);
        REQUIRE(d.cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
        REQUIRE(order.launch(nullptr, 1) == CUDA_SUCCESS);
        REQUIRE(d.cuCtxSetCurrent(second) == CUDA_SUCCESS);
        REQUIRE(order.launch(nullptr, 2) == CUDA_SUCCESS);
        REQUIRE(d.cuCtxSynchronize() == CUDA_SUCCESS);
        CHECK(order.has(2));
        passed = passed || !order.has(1);
        REQUIRE(d.cuCtxSetCurrent(first) == CUDA_SUCCESS);
        REQUIRE(d.cuCtxSynchronize() == CUDA_SUCCESS);
        CHECK(order.has(1));
        CHECK(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    }
    CHECK(passed);
}

TEST_CASE("streams of different devices wait for each other's events", "[engine]") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    CUcontext first = nullptr, second = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&first) == CUDA_SUCCESS);
    REQUIRE(d.cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
    const CUstream one = make_stream();
    const CUevent event = make_event();
    REQUIRE(d.cuCtxSetCurrent(second) == CUDA_SUCCESS);
    const CUstream two = make_stream();
    REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
    REQUIRE(d.cuEventRecord(event, one) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWaitEvent(two, event, 0) == CUDA_SUCCESS);
    REQUIRE(order.launch(two, 2) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(two) == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{1, 2});
    destroy(two);
    destroy(one);
    destroy(event);
    REQUIRE(d.cuCtxSetCurrent(first) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
}

TEST_CASE("a stream can be destroyed while it works", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    const CUstream stream = make_stream(CU_STREAM_NON_BLOCKING), other = make_stream();
    const CUevent event = make_event();
    for (int i = 0; i < 10; ++i) {
        REQUIRE(order.launch(stream, i) == CUDA_SUCCESS);
    }
    REQUIRE(d.cuEventRecord(event, stream) == CUDA_SUCCESS);
    destroy(stream);
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed stream");
    CHECK(leaks().size() == 2); // the event and the other stream
    REQUIRE(d.cuStreamWaitEvent(other, event, 0) == CUDA_SUCCESS);
    destroy(event); // it is waited for
    REQUIRE(order.launch(other, 10) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(other) == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    destroy(other);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST_CASE("the context waits for the work of destroyed streams", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream();
    REQUIRE(order.launch(stream, 1) == CUDA_SUCCESS);
    destroy(stream);
    CHECK(cushim::driver().cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.has(1));
}

TEST_CASE("the end of a context runs its work first", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const CUstream stream = make_stream();
    REQUIRE(order.launch(stream, 1) == CUDA_SUCCESS);
    REQUIRE(order.launch(nullptr, 2) == CUDA_SUCCESS);
    CHECK(cushim::driver().cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{1, 2});
}

TEST_CASE("a reset drops what is queued", "[engine]") {
    start(GENERATE(as<std::string>{}, "mode=adversarial", "mode=immediate", "mode=threaded"));
    const auto &d = cushim::driver();
    RunOrder order;
    PinnedWord word;
    const CUstream stream = make_stream();
    REQUIRE(d.cuStreamWaitValue32_v2(stream, word.address, 1, CU_STREAM_WAIT_VALUE_EQ) ==
            CUDA_SUCCESS);
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(order.launch(stream, i) == CUDA_SUCCESS);
    }
    destroy(stream);
    sim_control().reset();
    CHECK(order.ran().empty());
    CHECK(leaks().empty());
}

TEST_CASE("long queues need neither a deep stack nor much time", "[engine]") {
    start(GENERATE(as<std::string>{}, "mode=adversarial", "mode=threaded", "mode=immediate"));
    const auto &d = cushim::driver();
    PinnedWord word;
    const CUstream one = make_stream(), two = make_stream();
    REQUIRE(d.cuStreamWaitValue32_v2(one, word.address, 1, CU_STREAM_WAIT_VALUE_EQ) ==
            CUDA_SUCCESS);
    const CUevent event = make_event();
    for (int i = 0; i < 4000; ++i) {
        REQUIRE(d.cuEventRecord(event, i % 2 != 0 ? one : two) == CUDA_SUCCESS);
        REQUIRE(d.cuStreamWaitEvent(i % 2 != 0 ? two : one, event, 0) == CUDA_SUCCESS);
    }
    const bool dropped = GENERATE(true, false);
    if (dropped) {
        sim_control().reset();
        return;
    }
    word.value->store(1);
    CHECK(d.cuEventSynchronize(event) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    destroy(event);
    destroy(one);
    destroy(two);
    word.free();
}
