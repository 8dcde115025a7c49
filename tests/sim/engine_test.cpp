// When queued work runs, and after what: the laws of streams, in every mode, against a model of them.
#include "run_order.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace sim_test;

namespace {

// A word of pinned memory that streams wait for and write.
struct Word {
    Word() {
        void *memory = nullptr;
        REQUIRE(cushim::driver().cuMemHostAlloc(&memory, 4, 0) == CUDA_SUCCESS);
        value = static_cast<std::atomic<std::uint32_t> *>(memory);
        REQUIRE(cushim::driver().cuMemHostGetDevicePointer(&address, memory, 0) == CUDA_SUCCESS);
    }
    void free() { CHECK(cushim::driver().cuMemFreeHost(value) == CUDA_SUCCESS); }
    std::atomic<std::uint32_t> *value = nullptr;
    CUdeviceptr address = 0;
};

} // namespace

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
    CHECK(cushim::driver().cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
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
    Word word;
    const CUstream stream = make_stream();
    REQUIRE(d.cuStreamWaitValue32(stream, word.address, 1, CU_STREAM_WAIT_VALUE_EQ) ==
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
    Word word;
    const CUstream one = make_stream(), two = make_stream();
    REQUIRE(d.cuStreamWaitValue32(one, word.address, 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
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

// --- Against a model

namespace {

enum class Step { launch, record, wait, synchronize_stream, synchronize_event };

// A program of streams and events, and which of its launches must come before which, as CUDA's manual says it.
class Program {
  public:
    Program(unsigned int seed, int steps) : random_(seed) {
        for (const bool blocks : {true, true, false, false}) {
            streams_.push_back({blocks});
        }
        streams_.push_back({true}); // the legacy stream
        for (int i = 0; i < steps; ++i) {
            step();
        }
    }

    // Runs it on the simulator; returns the order. Checks that every wait saw what it had to.
    std::vector<int> run() const {
        const auto &d = cushim::driver();
        RunOrder order;
        std::vector<CUstream> streams;
        for (const auto &stream : streams_) {
            streams.push_back(
                make_stream(stream.blocks ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
        }
        destroy(streams[legacy]);
        streams[legacy] = nullptr;
        std::vector<CUevent> events;
        for (int i = 0; i < event_count; ++i) {
            events.push_back(make_event());
        }
        for (const Instruction &instruction : program_) {
            switch (instruction.step) {
            case Step::launch:
                REQUIRE(order.launch(streams[instruction.stream], instruction.number) ==
                        CUDA_SUCCESS);
                break;
            case Step::record:
                REQUIRE(d.cuEventRecord(events[instruction.event], streams[instruction.stream]) ==
                        CUDA_SUCCESS);
                break;
            case Step::wait:
                REQUIRE(d.cuStreamWaitEvent(streams[instruction.stream], events[instruction.event],
                                            0) == CUDA_SUCCESS);
                break;
            case Step::synchronize_stream:
                REQUIRE(d.cuStreamSynchronize(streams[instruction.stream]) == CUDA_SUCCESS);
                check_ran(order, instruction.before);
                break;
            case Step::synchronize_event:
                REQUIRE(d.cuEventSynchronize(events[instruction.event]) == CUDA_SUCCESS);
                check_ran(order, instruction.before);
                break;
            }
        }
        REQUIRE(d.cuCtxSynchronize() == CUDA_SUCCESS);
        for (const CUevent event : events) {
            destroy(event);
        }
        streams.pop_back();
        for (const CUstream stream : streams) {
            destroy(stream);
        }
        return order.ran();
    }

    void check_legal(const std::vector<int> &order) const {
        REQUIRE(order.size() == before_.size());
        std::vector<std::size_t> position(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            position[static_cast<std::size_t>(order[i])] = i;
        }
        bool legal = true;
        for (std::size_t number = 0; number < before_.size(); ++number) {
            for (const int earlier : before_[number]) {
                legal = legal && position[static_cast<std::size_t>(earlier)] < position[number];
            }
        }
        CHECK(legal);
    }

  private:
    using Set = std::set<int>;
    struct ModelStream {
        bool blocks;
        Set done = {}; // what comes before its next operation
    };
    struct Instruction {
        Step step;
        std::size_t stream, event;
        int number = 0;
        Set before = {};
    };
    static constexpr std::size_t legacy = 4;
    static constexpr int event_count = 3;

    static void check_ran(const RunOrder &order, const Set &before) {
        const auto ran = order.ran();
        const Set have(ran.begin(), ran.end());
        CHECK(std::includes(have.begin(), have.end(), before.begin(), before.end()));
    }

    std::size_t pick(std::size_t count) { return random_() % count; }

    // What an operation that is queued there now comes after.
    Set after(std::size_t stream) const {
        Set set = streams_[stream].done;
        for (std::size_t other = 0; other < streams_.size(); ++other) {
            const bool related = stream == legacy ? streams_[other].blocks
                                                  : other == legacy && streams_[stream].blocks;
            if (related) {
                set.insert(streams_[other].done.begin(), streams_[other].done.end());
            }
        }
        return set;
    }

    void step() {
        Instruction instruction{static_cast<Step>(pick(8) % 5), pick(streams_.size()),
                                pick(event_count)};
        ModelStream &stream = streams_[instruction.stream];
        Set before = after(instruction.stream);
        switch (instruction.step) {
        case Step::launch:
            instruction.number = static_cast<int>(before_.size());
            before_.push_back(before);
            before.insert(instruction.number);
            stream.done = std::move(before);
            break;
        case Step::record:
            events_[instruction.event] = before;
            stream.done = std::move(before);
            break;
        case Step::wait:
            before.insert(events_[instruction.event].begin(), events_[instruction.event].end());
            stream.done = std::move(before);
            break;
        case Step::synchronize_stream:
            // Work of the legacy stream concerns another stream only from that one's next work on.
            instruction.before = instruction.stream == legacy ? before : stream.done;
            break;
        case Step::synchronize_event:
            instruction.before = events_[instruction.event];
            break;
        }
        program_.push_back(std::move(instruction));
    }

    std::mt19937 random_;
    std::vector<ModelStream> streams_;
    Set events_[event_count];
    std::vector<Set> before_; // of every launch
    std::vector<Instruction> program_;
};

} // namespace

TEST_CASE("every order is a legal one: random programs against a model", "[engine]") {
    const bool long_ones = GENERATE(false, true);
    const int programs = long_ones ? 4 : 40;
    for (int number = 0; number < programs; ++number) {
        const Program program(static_cast<unsigned int>(number), long_ones ? 400 : 40);
        for (const auto &mode : all_modes()) {
            INFO("program " << number << ", " << mode);
            start(mode);
            program.check_legal(program.run());
        }
    }
}

TEST_CASE("the same seed gives the same order, other seeds give others", "[engine]") {
    for (unsigned int number = 1000; number < 1004; ++number) {
        const Program program(number, 60);
        std::set<std::vector<int>> orders;
        for (unsigned int seed = 1; seed <= 12; ++seed) {
            start(adversarial(seed));
            const auto order = program.run();
            program.check_legal(order);
            start(adversarial(seed));
            CHECK(program.run() == order);
            orders.insert(order);
        }
        CHECK(orders.size() > 3);
    }
}

// --- What waits for memory, and for nothing

TEST_CASE("work behind a wait for a value goes on when the host writes it", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    Word word;
    const CUstream stream = make_stream();
    REQUIRE(d.cuStreamWaitValue32(stream, word.address, 7, CU_STREAM_WAIT_VALUE_EQ) ==
            CUDA_SUCCESS);
    REQUIRE(order.launch(stream, 1) == CUDA_SUCCESS);
    CHECK(d.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    CHECK(d.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        word.value->store(7);
    });
    CHECK(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(order.has(1));
    writer.join();
    destroy(stream);
    word.free();
}

TEST_CASE("work behind a wait for a value goes on when another stream writes it", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    Word word;
    const CUstream waits = make_stream(), writes = make_stream(CU_STREAM_NON_BLOCKING);
    REQUIRE(d.cuStreamWaitValue32(waits, word.address, 7, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
    REQUIRE(order.launch(waits, 2) == CUDA_SUCCESS);
    REQUIRE(order.launch(writes, 1) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWriteValue32(writes, word.address, 7, 0) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(waits) == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{1, 2});
    destroy(waits);
    destroy(writes);
    word.free();
}

TEST_CASE("what nobody ever makes go on is a deadlock, with names", "[engine]") {
    start("patience=50;" + GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    Word word;
    const CUstream waits = make_stream(), other = make_stream();
    const CUevent event = make_event();
    REQUIRE(d.cuStreamWaitValue32(waits, word.address, 7, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
    REQUIRE(d.cuEventRecord(event, waits) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWaitEvent(other, event, 0) == CUDA_SUCCESS);
    REQUIRE(order.launch(other, 1) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(other) == CUDA_ERROR_LAUNCH_TIMEOUT);
    expect_misuse("deadlock: cuStreamSynchronize waits for cuStreamWaitValue32 (operation");
    CHECK(order.ran().empty());
    CHECK(d.cuStreamSynchronize(other) == CUDA_ERROR_LAUNCH_TIMEOUT); // the context failed
    CHECK(d.cuStreamDestroy(waits) == CUDA_ERROR_LAUNCH_TIMEOUT);     // and are gone
    CHECK(d.cuStreamDestroy(other) == CUDA_ERROR_LAUNCH_TIMEOUT);
    CHECK(d.cuEventDestroy(event) == CUDA_ERROR_LAUNCH_TIMEOUT);
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}

TEST_CASE("two streams that wait for each other's values are a deadlock", "[engine]") {
    start("patience=50;" + GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    Word a, b;
    const CUstream one = make_stream(), two = make_stream();
    REQUIRE(d.cuStreamWaitValue32(one, a.address, 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWriteValue32(one, b.address, 1, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWaitValue32(two, b.address, 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWriteValue32(two, a.address, 1, 0) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_TIMEOUT);
    expect_misuse("deadlock: cuCtxSynchronize waits for cuStreamWaitValue32");
    sim_control().reset();
}

TEST_CASE("drain runs what can run, and counts the rest", "[engine]") {
    start(GENERATE(as<std::string>{}, "mode=adversarial", "mode=threaded", "mode=immediate"));
    const auto &d = cushim::driver();
    RunOrder order;
    Word word;
    const CUstream one = make_stream(), two = make_stream();
    for (int i = 0; i < 50; ++i) {
        REQUIRE(order.launch(one, i) == CUDA_SUCCESS);
    }
    REQUIRE(d.cuStreamWaitValue32(two, word.address, 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
    REQUIRE(order.launch(two, 50) == CUDA_SUCCESS);
    CHECK(sim_control().drain() == 2);
    CHECK(order.ran().size() == 50);
    word.value->store(1);
    CHECK(sim_control().drain() == 0);
    CHECK(order.ran().size() == 51);
    destroy(one);
    destroy(two);
    word.free();
}

TEST_CASE("the mode can change while work is queued", "[engine]") {
    start("mode=adversarial");
    const std::string mode = GENERATE("mode=immediate", "mode=threaded");
    RunOrder order;
    const CUstream one = make_stream();
    REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
    configure(mode);
    CHECK(cushim::driver().cuStreamSynchronize(one) == CUDA_SUCCESS);
    REQUIRE(order.launch(one, 2) == CUDA_SUCCESS);
    configure("mode=adversarial");
    REQUIRE(order.launch(one, 3) == CUDA_SUCCESS);
    configure(mode);
    CHECK(cushim::driver().cuStreamSynchronize(one) == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{1, 2, 3});
    destroy(one);
}

// --- Errors of queued work

namespace {

void fail_next(const char *entry, int code) {
    cushim_sim_fault fault{};
    fault.entry = entry;
    fault.kind = CUSHIM_SIM_FAULT_ASYNC;
    fault.code = code;
    REQUIRE(sim_control().plan_fault(&fault) != 0);
}

} // namespace

TEST_CASE("a fault of queued work makes its context fail for good", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const int code = GENERATE(700, 714, 715, 716, 717, 718, 719, 710, 214);
    const auto status = static_cast<CUresult>(code);
    const auto &d = cushim::driver();
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent event = make_event();
    fail_next("cuLaunchHostFunc", code);
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    // The second may already hear of it: then it is not queued.
    const CUresult second = order.launch(stream, 2);
    CHECK((second == CUDA_SUCCESS || second == status));
    CHECK(d.cuStreamSynchronize(stream) == status);
    CHECK(order.ran().empty());
    CHECK(d.cuStreamSynchronize(stream) == status);
    CHECK(d.cuStreamQuery(stream) == status);
    CHECK(d.cuCtxSynchronize() == status);
    CHECK(d.cuEventQuery(event) == status);
    CHECK(d.cuEventRecord(event, stream) == status);
    CHECK(order.launch(nullptr, 3) == status);
    CUdeviceptr memory = 0;
    CHECK(d.cuMemAlloc(&memory, 4) == status);
    CHECK(order.ran().empty());
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    REQUIRE(d.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(order.launch(nullptr, 4) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{4});
}

TEST_CASE("an error that is not sticky is told once", "[engine]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    const CUstream stream = make_stream();
    const CUevent event = make_event();
    fail_next("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 2) == CUDA_SUCCESS);
    CHECK(d.cuEventRecord(event, stream) == CUDA_SUCCESS);
    switch (GENERATE(0, 1, 2)) {
    case 0:
        CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_OUT_OF_MEMORY);
        break;
    case 1:
        CHECK(d.cuEventSynchronize(event) == CUDA_ERROR_OUT_OF_MEMORY);
        break;
    default:
        CHECK(d.cuCtxSynchronize() == CUDA_ERROR_OUT_OF_MEMORY);
    }
    CHECK(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{2});
    destroy(event);
    destroy(stream);
}

TEST_CASE("another context goes on when one fails", "[engine]") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    const auto &d = cushim::driver();
    RunOrder order;
    CUcontext first = nullptr, second = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&first) == CUDA_SUCCESS);
    const CUstream one = make_stream();
    const CUevent event = make_event();
    REQUIRE(d.cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(second) == CUDA_SUCCESS);
    const CUstream two = make_stream();
    REQUIRE(d.cuEventRecord(event, one) == CUDA_SUCCESS);
    REQUIRE(d.cuStreamWaitEvent(two, event, 0) == CUDA_SUCCESS);
    REQUIRE(order.launch(two, 2) == CUDA_SUCCESS);
    fail_next("cuLaunchHostFunc", 700);
    REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(two) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(one) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(order.ran() == std::vector{2});
    destroy(two);
    REQUIRE(d.cuCtxSetCurrent(first) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
}

// --- Threads

TEST_CASE("many threads queue, wait and destroy at once", "[engine]") {
    start(GENERATE(as<std::string>{}, "mode=threaded", "mode=immediate", "mode=adversarial"));
    const auto &d = cushim::driver();
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    constexpr int threads = 8, rounds = 40;
    const CUevent shared = make_event();
    const CUstream common = make_stream(CU_STREAM_NON_BLOCKING);
    std::atomic<int> failures{0};
    RunOrder order;
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
        all.emplace_back([&, thread] {
            const auto check = [&](bool good) { failures += good ? 0 : 1; };
            check(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
            for (int round = 0; round < rounds; ++round) {
                CUstream stream = nullptr;
                check(d.cuStreamCreate(&stream, round % 2) == CUDA_SUCCESS);
                const int number = (thread * rounds + round) * 4;
                check(order.launch(stream, number) == CUDA_SUCCESS);
                check(d.cuStreamWaitEvent(stream, shared, 0) == CUDA_SUCCESS);
                check(order.launch(stream, number + 1) == CUDA_SUCCESS);
                check(order.launch(common, number + 2) == CUDA_SUCCESS);
                check(d.cuEventRecord(shared, common) == CUDA_SUCCESS);
                check(order.launch(CU_STREAM_PER_THREAD, number + 3) == CUDA_SUCCESS);
                if (round % 3 == 0) {
                    check(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
                    check(order.has(number + 1));
                }
                const CUresult asked = d.cuEventQuery(shared);
                check(asked == CUDA_SUCCESS || asked == CUDA_ERROR_NOT_READY);
                check(d.cuStreamDestroy(stream) == CUDA_SUCCESS);
            }
            if (thread % 2 == 0) {
                check(d.cuCtxSynchronize() == CUDA_SUCCESS);
            }
        });
    }
    for (auto &thread : all) {
        thread.join();
    }
    CHECK(failures == 0);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran().size() == threads * rounds * 4);
    destroy(shared);
    destroy(common);
    CHECK(leaks().empty());
}

TEST_CASE("a reset ends workers that are busy", "[engine]") {
    for (int round = 0; round < 20; ++round) {
        start("mode=threaded");
        RunOrder order;
        for (int i = 0; i < 4; ++i) {
            const CUstream stream = make_stream();
            for (int j = 0; j < 50; ++j) {
                REQUIRE(order.launch(stream, j) == CUDA_SUCCESS);
            }
        }
        sim_control().reset();
        const auto ran = order.ran().size();
        std::this_thread::yield();
        CHECK(order.ran().size() == ran);
    }
}

TEST_CASE("threaded mode really runs streams at the same time", "[engine]") {
    start("mode=threaded");
    const auto &d = cushim::driver();
    const CUstream one = make_stream(), two = make_stream();
    // Each waits for the other.
    static std::atomic<int> arrived;
    arrived = 0;
    const auto meet = [](void *) {
        ++arrived;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (arrived < 2 && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
        }
        ++arrived;
    };
    REQUIRE(d.cuLaunchHostFunc(one, meet, nullptr) == CUDA_SUCCESS);
    REQUIRE(d.cuLaunchHostFunc(two, meet, nullptr) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(arrived == 4);
    destroy(one);
    destroy(two);
}

// --- What goes on when nobody waits

namespace {

// What a host function wakes.
struct Bell {
    std::mutex mutex;
    std::condition_variable rung;
    bool ring = false;

    static void CUDA_CB press(void *bell) {
        auto &b = *static_cast<Bell *>(bell);
        const std::lock_guard held(b.mutex);
        b.ring = true;
        b.rung.notify_all();
    }
    bool wait() {
        std::unique_lock lock(mutex);
        return rung.wait_for(lock, std::chrono::seconds(30), [&] { return ring; });
    }
};

} // namespace

TEST_CASE("a program can wait for a host function without calling CUDA", "[engine]") {
    start("stall=100;" + GENERATE_COPY(from_range(all_modes())));
    Bell bell;
    Word word;
    const CUstream stream = make_stream();
    if (GENERATE(false, true)) {
        REQUIRE(cushim::driver().cuStreamWaitValue32(stream, word.address, 1,
                                                     CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
        word.value->store(1);
    }
    REQUIRE(cushim::driver().cuLaunchHostFunc(stream, Bell::press, &bell) == CUDA_SUCCESS);
    CHECK(bell.wait());
    CHECK(cushim::driver().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    destroy(stream);
    word.free();
}

TEST_CASE("nothing runs by itself where that is switched off", "[engine]") {
    start("stall=0;mode=adversarial");
    RunOrder order;
    REQUIRE(order.launch(nullptr, 1) == CUDA_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(order.ran().empty());
    CHECK(cushim::driver().cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.has(1));
}
