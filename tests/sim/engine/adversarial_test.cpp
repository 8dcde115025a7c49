// The adversarial mode: programs without proper synchronization fail, repeatably for each seed.
#include "graph_tools.hpp"
#include "run_order.hpp"

using namespace sim_test;

namespace {

constexpr unsigned int seeds = 32;
constexpr std::size_t size = 256;

struct Buffer : DeviceMemory {
    explicit Buffer(int value) : DeviceMemory(size) {
        std::memset(sim_control().view(*this, size), value, size);
    }
    unsigned char first() const {
        return *static_cast<unsigned char *>(sim_control().view(*this, size));
    }
};

struct Pinned : PinnedMemory {
    explicit Pinned(int value) : PinnedMemory(size) { set(value); }
    void set(int value) const { std::memset(get(), value, size); }
    unsigned char last() const { return static_cast<unsigned char *>(get())[size - 1]; }
};

// Work in a stream that no result depends on.
void queue_harmless(CUstream stream, const Buffer &scratch, int count) {
    for (int i = 0; i < count; ++i) {
        require_ok(driver().cuMemsetD8Async(scratch, 1, size, stream));
    }
}

// Two streams: one writes the buffer that the other one reads.
struct Race {
    int before_write, before_read; // harmless operations in the queues
    bool ordered;                  // by a stream that waits for an event
    bool wait_for_all;             // otherwise for the reader only
    bool write_first = true;       // in call order; the correct result is 7 in either order

    // Returns the value that the reader copied.
    int run() const {
        const Buffer buffer(write_first ? 0 : 7), scratch(0);
        const Pinned source(write_first ? 7 : 9), result(0);
        const Stream writer(non_blocking), reader(non_blocking);
        const Event done(CU_EVENT_DISABLE_TIMING);
        const auto write = [&] {
            queue_harmless(writer, scratch, before_write);
            require_ok(driver().cuMemcpyHtoDAsync(buffer, source, size, writer));
        };
        const auto read = [&] {
            queue_harmless(reader, scratch, before_read);
            require_ok(driver().cuMemcpyDtoHAsync(result, buffer, size, reader));
        };
        write_first ? write() : read();
        const CUstream first = write_first ? writer : reader,
                       second = write_first ? reader : writer;
        require_ok(driver().cuEventRecord(done, first));
        if (ordered) {
            require_ok(driver().cuStreamWaitEvent(second, done, 0));
        }
        write_first ? read() : write();
        require_ok(
            (wait_for_all ? driver().cuCtxSynchronize() : driver().cuStreamSynchronize(reader)));
        const int got = result.last();
        require_ok(driver().cuCtxSynchronize());
        return got;
    }
};

} // namespace

TEST_CASE("a read without a wait for the writer's event is caught by most seeds, repeatably") {
    const Race race{0, 0, false, false};
    std::set<unsigned int> caught[2];
    for (unsigned int run = 0; run < 2 * seeds; ++run) {
        const unsigned int seed = 1 + run % seeds;
        start(adversarial(seed));
        if (race.run() != 7) {
            caught[run / seeds].insert(seed);
        }
    }
    CHECK(caught[0].size() > seeds / 2);
    CHECK(caught[0] == caught[1]);
    start("mode=immediate");
    CHECK(race.run() == 7); // immediate mode never shows the race
}

TEST_CASE("one of each pair of seeds catches a missing wait, however much work precedes it") {
    const int before_write = GENERATE(0, 4, 64), before_read = GENERATE(0, 4, 64);
    const bool wait_for_all = GENERATE(false, true);
    INFO(before_write << " before the write, " << before_read
                      << " before the read, wait for all: " << wait_for_all);
    for (unsigned int pair = 0; pair < seeds / 2; ++pair) {
        bool caught = false;
        for (const unsigned int seed : {2 * pair, 2 * pair + 1}) {
            start(adversarial(seed));
            CHECK(Race{before_write, before_read, true, wait_for_all}.run() == 7);
            start(adversarial(seed));
            caught |= Race{before_write, before_read, false, wait_for_all}.run() != 7;
        }
        INFO("seeds " << 2 * pair << " and " << 2 * pair + 1);
        CHECK(caught);
    }
}

TEST_CASE("overwriting a buffer while another stream reads it is caught") {
    const int before_write = GENERATE(0, 64), before_read = GENERATE(0, 64);
    const bool wait_for_all = GENERATE(false, true);
    for (unsigned int first = 0; first < seeds; first += 8) {
        bool caught = false;
        for (unsigned int seed = first; seed < first + 8; ++seed) {
            start(adversarial(seed));
            CHECK(Race{before_write, before_read, true, wait_for_all, false}.run() == 7);
            start(adversarial(seed));
            caught |= Race{before_write, before_read, false, wait_for_all, false}.run() != 7;
        }
        CHECK(caught);
    }
}

TEST_CASE("a missing edge of a graph is caught, however many nodes precede it") {
    const int before = GENERATE(1, 64);
    std::set<unsigned int> caught;
    for (const bool with_edge : {true, false}) {
        for (unsigned int seed = 0; seed < 8; ++seed) {
            start(adversarial(seed));
            const Graph graph;
            RunOrder order;
            CUgraphNode last = nullptr;
            for (int i = 0; i < before; ++i) {
                last = add_note(graph, order, 0, last != nullptr ? Nodes{last} : Nodes{});
            }
            const CUgraphNode write = add_note(graph, order, 1, {last});
            add_note(graph, order, 2, with_edge ? Nodes{write} : Nodes{});
            const Executable exec(graph);
            run(exec);
            const auto ran = order.ran();
            const bool legal = std::find(ran.begin(), ran.end(), 1) < //
                               std::find(ran.begin(), ran.end(), 2);
            CHECK((legal || !with_edge));
            if (!legal) {
                caught.insert(seed / 2);
            }
        }
    }
    CHECK(caught.size() == 4); // every pair of seeds
}

TEST_CASE("a loop that waits for unrelated work ends") {
    start(adversarial(GENERATE(0u, 1u, 2u, 6u, 7u)) + ";stall=0");
    const int way = GENERATE(0, 1, 2);
    const Stream named(non_blocking), other(non_blocking);
    const Event never;
    std::atomic<bool> ran{false};
    const auto set = [](void *flag) { static_cast<std::atomic<bool> *>(flag)->store(true); };
    require_ok(driver().cuLaunchHostFunc(other, set, &ran));
    while (!ran) {
        if (way == 0) { // enqueues work and waits for it
            require_ok(driver().cuLaunchHostFunc(named, [](void *) {}, nullptr));
            require_ok(driver().cuStreamSynchronize(named));
        } else if (way == 1) {
            require_ok(driver().cuStreamQuery(named));
        } else {
            require_ok(driver().cuEventQuery(never));
        }
    }
}

namespace {

// A reader, and a writer that only waits for a third stream. Returns the value read; 7 is correct.
int read_beside_gated_writer(bool ordered, bool wait_for_all) {
    const Buffer buffer(7), scratch(0);
    const Pinned result(0);
    const Stream writer(non_blocking), reader(non_blocking), gate(non_blocking);
    const Event open(CU_EVENT_DISABLE_TIMING), read(CU_EVENT_DISABLE_TIMING);
    require_ok(driver().cuMemcpyDtoHAsync(result, buffer, size, reader));
    require_ok(driver().cuEventRecord(read, reader));
    queue_harmless(gate, scratch, 3);
    require_ok(driver().cuEventRecord(open, gate));
    require_ok(driver().cuStreamWaitEvent(writer, open, 0));
    if (ordered) {
        require_ok(driver().cuStreamWaitEvent(writer, read, 0));
    }
    require_ok(driver().cuMemsetD8Async(buffer, 9, size, writer));
    require_ok((wait_for_all ? driver().cuCtxSynchronize() : driver().cuStreamSynchronize(reader)));
    const int got = result.last();
    require_ok(driver().cuCtxSynchronize());
    return got;
}

} // namespace

TEST_CASE("a race with a stream that waits for a third stream is caught") {
    for (unsigned int first = 0; first < 4 * seeds; first += 8) {
        INFO("seeds from " << first);
        int caught = 0;
        for (unsigned int seed = first; seed < first + 8; ++seed) {
            start(adversarial(seed));
            CHECK(read_beside_gated_writer(true, true) == 7);
            start(adversarial(seed));
            caught += read_beside_gated_writer(false, false) != 7 ? 1 : 0;
        }
        CHECK(caught > 0); // by seeds that do not postpone unneeded work
        for (unsigned int seed = first; seed < first + 8; seed += 2) { // by one of each pair
            start(adversarial(seed));
            const int one = read_beside_gated_writer(false, true);
            start(adversarial(seed + 1));
            CHECK((one == 7) != (read_beside_gated_writer(false, true) == 7));
        }
    }
}

TEST_CASE("a program that ignores NOT_READY is caught") {
    const bool of_event = GENERATE(false, true);
    const int questions = GENERATE(1, 3);
    unsigned int caught = 0;
    for (unsigned int seed = 0; seed < seeds; ++seed) {
        start(adversarial(seed) + ";stall=0");
        const Buffer buffer(0);
        const Pinned source(7);
        const Stream stream(non_blocking);
        const Event event(CU_EVENT_DISABLE_TIMING);
        require_ok(driver().cuMemcpyHtoDAsync(buffer, source, size, stream));
        require_ok(driver().cuEventRecord(event, stream));
        for (int i = 0; i < questions; ++i) {
            of_event ? driver().cuEventQuery(event) : driver().cuStreamQuery(stream);
        }
        source.set(1); // with any status
        require_ok(driver().cuStreamSynchronize(stream));
        caught += buffer.first() != 7;
    }
    CHECK(caught > seeds / 4);
    CHECK(caught < seeds); // some seeds run the work at the first query
}

TEST_CASE("polling until the work is done ends") {
    start(adversarial(GENERATE(range(0u, 16u))) + ";stall=0");
    const bool of_event = GENERATE(false, true);
    const Buffer scratch(0);
    const Stream stream(non_blocking);
    const Event event;
    queue_harmless(stream, scratch, 20);
    require_ok(driver().cuEventRecord(event, stream));
    const auto ask = [&] {
        return of_event ? driver().cuEventQuery(event) : driver().cuStreamQuery(stream);
    };
    int questions = 1;
    for (CUresult now = ask(); now != CUDA_SUCCESS && questions < 1000; ++questions, now = ask()) {
        REQUIRE(now == CUDA_ERROR_NOT_READY);
    }
    CHECK(questions > 21);      // each query runs at most one operation
    CHECK(questions <= 21 + 9); // a few queries run none
}

TEST_CASE("memory that is freed before its work has run is caught") {
    start(adversarial(1));
    const CUstream stream = make_stream();
    const CUdeviceptr memory = allocate(size);
    if (GENERATE(false, true)) {
        require_ok(driver().cuMemsetD8Async(memory, 1, size, stream));
        release(memory);
    } else {
        void *const source = allocate_pinned(size);
        require_ok(driver().cuMemcpyHtoDAsync(memory, source, size, stream));
        release(source);
    }
    CHECK_FALSE(misuses().empty());
    CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuses();
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("waiting for one stream leaves work of others pending") {
    unsigned int left = 0;
    for (unsigned int seed = 1; seed <= seeds; ++seed) {
        start(adversarial(seed));
        RunOrder order;
        const Stream one(non_blocking), two(non_blocking);
        require_ok(order.launch(one, 1));
        require_ok(order.launch(two, 2));
        require_ok(driver().cuStreamSynchronize(one));
        CHECK(order.has(1));
        left += order.has(2) ? 0 : 1;
        require_ok(driver().cuStreamSynchronize(two));
    }
    CHECK(left > seeds / 2); // mostly
    CHECK(left < seeds);     // not always
}

TEST_CASE("a seed gives the same order on every platform") {
    start(adversarial(42));
    RunOrder order;
    const Stream streams[] = {Stream(non_blocking), Stream(non_blocking), Stream(non_blocking),
                              Stream(non_blocking)};
    for (int i = 0; i < 8; ++i) {
        require_ok(order.launch(streams[i / 2], i));
    }
    require_ok(driver().cuCtxSynchronize());
    CHECK(order.ran() == std::vector{6, 7, 4, 5, 0, 1, 2, 3});
}
