// What the adversarial mode is for: programs that lean on luck fail, every time with the same seed.
#include "graph_tools.hpp"
#include "run_order.hpp"

#include <atomic>
#include <cstring>
#include <set>

using namespace sim_test;

namespace {

constexpr unsigned int seeds = 32;
constexpr std::size_t size = 256;

struct Buffer {
    explicit Buffer(int value) {
        REQUIRE(d.cuMemAlloc(&address, size) == good);
        std::memset(sim_control().view(address, size), value, size);
    }
    void free() { CHECK(d.cuMemFree(address) == good); }
    CUdeviceptr address = 0;
};

unsigned char *pinned(int value) {
    void *memory = allocate_pinned(size, 0);
    std::memset(memory, value, size);
    return static_cast<unsigned char *>(memory);
}

// All misuses so far, and no more are expected.
void take_misuses() {
    const std::size_t count = misuses().size();
    REQUIRE(count > 0);
    for (std::size_t i = 0; i < count; ++i) {
        expect_misuse("");
    }
}

// Work that nobody needs, in a stream.
void queue_harmless(CUstream stream, const Buffer &scratch, int count) {
    for (int i = 0; i < count; ++i) {
        REQUIRE(d.cuMemsetD8Async(scratch.address, 1, size, stream) == good);
    }
}

// Two streams, of which one writes what the other one reads.
struct Race {
    int before_write, before_read; // harmless operations in the queues
    bool ordered;                  // by an event
    bool wait_for_all;             // else for the reader alone
    bool write_first = true;       // in the order of the calls; the right result is 7 all the same

    // What the reader got.
    int run() const {
        Buffer buffer(write_first ? 0 : 7), scratch(0);
        unsigned char *source = pinned(write_first ? 7 : 9), *result = pinned(0);
        const CUstream writer = make_stream(non_blocking), reader = make_stream(non_blocking);
        const CUevent done = make_event(CU_EVENT_DISABLE_TIMING);
        const auto write = [&] {
            queue_harmless(writer, scratch, before_write);
            REQUIRE(d.cuMemcpyHtoDAsync(buffer.address, source, size, writer) == good);
        };
        const auto read = [&] {
            queue_harmless(reader, scratch, before_read);
            REQUIRE(d.cuMemcpyDtoHAsync(result, buffer.address, size, reader) == good);
        };
        write_first ? write() : read();
        const CUstream first = write_first ? writer : reader,
                       second = write_first ? reader : writer;
        REQUIRE(d.cuEventRecord(done, first) == good);
        if (ordered) {
            REQUIRE(d.cuStreamWaitEvent(second, done, 0) == good);
        }
        write_first ? read() : write();
        REQUIRE((wait_for_all ? d.cuCtxSynchronize() : d.cuStreamSynchronize(reader)) == good);
        const int got = result[size - 1];
        REQUIRE(d.cuCtxSynchronize() == good);
        destroy(done);
        destroy(writer);
        destroy(reader);
        buffer.free();
        scratch.free();
        CHECK(d.cuMemFreeHost(source) == good);
        CHECK(d.cuMemFreeHost(result) == good);
        return got;
    }
};

// A producer and a consumer in two streams; what the consumer got.
int produced_and_consumed(bool with_event) {
    Buffer buffer(0);
    unsigned char *source = pinned(7), *result = pinned(0);
    const CUstream producer = make_stream(non_blocking), consumer = make_stream(non_blocking);
    const CUevent ready = make_event(CU_EVENT_DISABLE_TIMING);
    REQUIRE(d.cuMemcpyHtoDAsync(buffer.address, source, size, producer) == good);
    REQUIRE(d.cuEventRecord(ready, producer) == good);
    if (with_event) {
        REQUIRE(d.cuStreamWaitEvent(consumer, ready, 0) == good);
    }
    REQUIRE(d.cuMemcpyDtoHAsync(result, buffer.address, size, consumer) == good);
    REQUIRE(d.cuStreamSynchronize(consumer) == good);
    const int got = result[size - 1];
    REQUIRE(d.cuCtxSynchronize() == good);
    destroy(ready);
    destroy(producer);
    destroy(consumer);
    buffer.free();
    CHECK(d.cuMemFreeHost(source) == good);
    CHECK(d.cuMemFreeHost(result) == good);
    return got;
}

} // namespace

TEST_CASE("a missing wait for an event is caught, and with it all is well") {
    std::set<unsigned int> caught;
    for (unsigned int seed = 1; seed <= seeds; ++seed) {
        start(adversarial(seed));
        CHECK(produced_and_consumed(true) == 7);
        start(adversarial(seed));
        if (produced_and_consumed(false) != 7) {
            caught.insert(seed);
        }
    }
    CHECK(caught.size() > seeds / 2);
    for (unsigned int seed = 1; seed <= seeds; ++seed) {
        start(adversarial(seed));
        CHECK((produced_and_consumed(false) != 7) == caught.contains(seed));
    }
    start("mode=immediate");
    CHECK(produced_and_consumed(false) == 7); // there it is never seen
}

TEST_CASE("of two seeds one catches a missing wait, however much runs before") {
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

TEST_CASE("what is overwritten while another stream reads it is caught, too") {
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

TEST_CASE("a missing edge of a graph is caught, however long the chain before") {
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

TEST_CASE("a loop in which a program waits for work that it does not name comes to its end") {
    start(adversarial(GENERATE(0u, 1u, 2u, 6u, 7u)) + ";stall=0");
    const int way = GENERATE(0, 1, 2);
    const Stream named(non_blocking), other(non_blocking);
    const Event never;
    std::atomic<bool> ran{false};
    const auto set = [](void *flag) { static_cast<std::atomic<bool> *>(flag)->store(true); };
    REQUIRE(d.cuLaunchHostFunc(other, set, &ran) == good);
    while (!ran) {
        if (way == 0) { // work of its own, waited for
            REQUIRE(d.cuLaunchHostFunc(named, [](void *) {}, nullptr) == good);
            REQUIRE(d.cuStreamSynchronize(named) == good);
        } else if (way == 1) {
            REQUIRE(d.cuStreamQuery(named) == good);
        } else {
            REQUIRE(d.cuEventQuery(never) == good);
        }
    }
}

namespace {

// A reader, and a writer that waits for a third stream alone: what the reader got. The right result
// is 7.
int read_beside_gated_writer(bool ordered, bool wait_for_all) {
    Buffer buffer(7), scratch(0);
    unsigned char *result = pinned(0);
    const CUstream writer = make_stream(non_blocking), reader = make_stream(non_blocking),
                   gate = make_stream(non_blocking);
    const CUevent open = make_event(CU_EVENT_DISABLE_TIMING),
                  read = make_event(CU_EVENT_DISABLE_TIMING);
    REQUIRE(d.cuMemcpyDtoHAsync(result, buffer.address, size, reader) == good);
    REQUIRE(d.cuEventRecord(read, reader) == good);
    queue_harmless(gate, scratch, 3);
    REQUIRE(d.cuEventRecord(open, gate) == good);
    REQUIRE(d.cuStreamWaitEvent(writer, open, 0) == good);
    if (ordered) {
        REQUIRE(d.cuStreamWaitEvent(writer, read, 0) == good);
    }
    REQUIRE(d.cuMemsetD8Async(buffer.address, 9, size, writer) == good);
    REQUIRE((wait_for_all ? d.cuCtxSynchronize() : d.cuStreamSynchronize(reader)) == good);
    const int got = result[size - 1];
    REQUIRE(d.cuCtxSynchronize() == good);
    for (const CUevent event : {open, read}) {
        destroy(event);
    }
    for (const CUstream stream : {writer, reader, gate}) {
        destroy(stream);
    }
    buffer.free();
    scratch.free();
    CHECK(d.cuMemFreeHost(result) == good);
    return got;
}

} // namespace

TEST_CASE("a race with a stream that waits for a third is caught, too") {
    for (unsigned int first = 0; first < 4 * seeds; first += 8) {
        INFO("seeds from " << first << " on");
        int caught = 0;
        for (unsigned int seed = first; seed < first + 8; ++seed) {
            start(adversarial(seed));
            CHECK(read_beside_gated_writer(true, true) == 7);
            start(adversarial(seed));
            caught += read_beside_gated_writer(false, false) != 7 ? 1 : 0;
        }
        CHECK(caught > 0); // by those that do not put off what nobody waits for
        for (unsigned int seed = first; seed < first + 8; seed += 2) { // by one of each pair
            start(adversarial(seed));
            const int one = read_beside_gated_writer(false, true);
            start(adversarial(seed + 1));
            CHECK((one == 7) != (read_beside_gated_writer(false, true) == 7));
        }
    }
}

TEST_CASE("who goes on though he is told that work is not done is caught") {
    const bool of_event = GENERATE(false, true);
    const int questions = GENERATE(1, 3);
    unsigned int caught = 0;
    for (unsigned int seed = 0; seed < seeds; ++seed) {
        start(adversarial(seed) + ";stall=0");
        Buffer buffer(0);
        unsigned char *source = pinned(7);
        const CUstream stream = make_stream(non_blocking);
        const CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
        REQUIRE(d.cuMemcpyHtoDAsync(buffer.address, source, size, stream) == good);
        REQUIRE(d.cuEventRecord(event, stream) == good);
        for (int i = 0; i < questions; ++i) {
            of_event ? d.cuEventQuery(event) : d.cuStreamQuery(stream);
        }
        std::memset(source, 1, size); // whatever the answer was
        REQUIRE(d.cuStreamSynchronize(stream) == good);
        caught += *static_cast<unsigned char *>(sim_control().view(buffer.address, size)) != 7;
        destroy(event);
        destroy(stream);
        buffer.free();
        CHECK(d.cuMemFreeHost(source) == good);
    }
    CHECK(caught > seeds / 4);
    CHECK(caught < seeds); // some run what they are asked for at once
}

TEST_CASE("who asks until work is done gets to its end") {
    start(adversarial(GENERATE(range(0u, 16u))) + ";stall=0");
    const bool of_event = GENERATE(false, true);
    Buffer scratch(0);
    const CUstream stream = make_stream(non_blocking);
    const CUevent event = make_event();
    queue_harmless(stream, scratch, 20);
    REQUIRE(d.cuEventRecord(event, stream) == good);
    int questions = 1;
    for (; questions < 1000; ++questions) {
        const CUresult now = of_event ? d.cuEventQuery(event) : d.cuStreamQuery(stream);
        if (now == good) {
            break;
        }
        REQUIRE(now == CUDA_ERROR_NOT_READY);
    }
    CHECK(questions > 21);      // a step each
    CHECK(questions <= 21 + 9); // and a few that take none
    destroy(event);
    destroy(stream);
    scratch.free();
}

TEST_CASE("an asynchronous copy reads pinned memory as late as it can") {
    start(adversarial(1));
    Buffer buffer(0);
    unsigned char *source = pinned(1);
    const CUstream stream = make_stream();
    REQUIRE(d.cuMemcpyHtoDAsync(buffer.address, source, size, stream) == good);
    std::memset(source, 2, size); // too early
    REQUIRE(d.cuStreamSynchronize(stream) == good);
    CHECK(*static_cast<unsigned char *>(sim_control().view(buffer.address, size)) == 2);
    destroy(stream);
    buffer.free();
    CHECK(d.cuMemFreeHost(source) == good);
}

TEST_CASE("an asynchronous copy of pageable memory has read it when it returns") {
    start(adversarial(1));
    Buffer buffer(0);
    std::vector<unsigned char> source(size, 1);
    const CUstream stream = make_stream();
    REQUIRE(d.cuMemcpyHtoDAsync(buffer.address, source.data(), size, stream) == good);
    std::fill(source.begin(), source.end(), static_cast<unsigned char>(2));
    REQUIRE(d.cuStreamSynchronize(stream) == good);
    CHECK(*static_cast<unsigned char *>(sim_control().view(buffer.address, size)) == 1);
    destroy(stream);
    buffer.free();
}

TEST_CASE("pinned memory that is freed too early is caught") {
    start(adversarial(1));
    Buffer buffer(0);
    unsigned char *source = pinned(1);
    const CUstream stream = make_stream();
    REQUIRE(d.cuMemcpyHtoDAsync(buffer.address, source, size, stream) == good);
    CHECK(d.cuMemFreeHost(source) == good);
    CHECK_FALSE(misuses().empty());
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    take_misuses();
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("device memory that is freed too early is caught") {
    start(adversarial(1));
    Buffer buffer(0);
    const CUstream stream = make_stream();
    REQUIRE(d.cuMemsetD8Async(buffer.address, 1, size, stream) == good);
    buffer.free();
    CHECK_FALSE(misuses().empty());
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    take_misuses();
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("waiting for one stream leaves others behind") {
    unsigned int left = 0;
    for (unsigned int seed = 1; seed <= seeds; ++seed) {
        start(adversarial(seed));
        RunOrder order;
        const Stream one(non_blocking), two(non_blocking);
        REQUIRE(order.launch(one, 1) == good);
        REQUIRE(order.launch(two, 2) == good);
        REQUIRE(d.cuStreamSynchronize(one) == good);
        CHECK(order.has(1));
        left += order.has(2) ? 0 : 1;
        REQUIRE(d.cuStreamSynchronize(two) == good);
    }
    CHECK(left > seeds / 2); // mostly
    CHECK(left < seeds);     // not always
}

TEST_CASE("an order is the same on every platform") {
    start(adversarial(42));
    RunOrder order;
    std::vector<CUstream> streams;
    for (int i = 0; i < 4; ++i) {
        streams.push_back(make_stream(non_blocking));
        REQUIRE(order.launch(streams.back(), 2 * i) == good);
        REQUIRE(order.launch(streams.back(), 2 * i + 1) == good);
    }
    REQUIRE(d.cuCtxSynchronize() == good);
    CHECK(order.ran() == std::vector{6, 7, 4, 5, 0, 1, 2, 3});
    for (const CUstream stream : streams) {
        destroy(stream);
    }
}
