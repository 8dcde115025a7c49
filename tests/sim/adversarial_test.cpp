// What the adversarial mode is for: programs that lean on luck fail, every time with the same seed.
#include "run_order.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <set>
#include <vector>

using namespace sim_test;

namespace {

cushim::DriverTable d() {
    return cushim::driver();
}

constexpr unsigned int seeds = 32;
constexpr std::size_t size = 256;

struct Buffer {
    explicit Buffer(int value) {
        REQUIRE(d().cuMemAlloc(&address, size) == CUDA_SUCCESS);
        std::memset(sim_control().view(address, size), value, size);
    }
    void free() { CHECK(d().cuMemFree(address) == CUDA_SUCCESS); }
    CUdeviceptr address = 0;
};

unsigned char *pinned(int value) {
    void *memory = nullptr;
    REQUIRE(d().cuMemHostAlloc(&memory, size, 0) == CUDA_SUCCESS);
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

// A producer and a consumer in two streams; what the consumer got.
int produced_and_consumed(bool with_event) {
    Buffer buffer(0);
    unsigned char *source = pinned(7), *result = pinned(0);
    const CUstream producer = make_stream(CU_STREAM_NON_BLOCKING),
                   consumer = make_stream(CU_STREAM_NON_BLOCKING);
    const CUevent ready = make_event(CU_EVENT_DISABLE_TIMING);
    REQUIRE(d().cuMemcpyHtoDAsync(buffer.address, source, size, producer) == CUDA_SUCCESS);
    REQUIRE(d().cuEventRecord(ready, producer) == CUDA_SUCCESS);
    if (with_event) {
        REQUIRE(d().cuStreamWaitEvent(consumer, ready, 0) == CUDA_SUCCESS);
    }
    REQUIRE(d().cuMemcpyDtoHAsync(result, buffer.address, size, consumer) == CUDA_SUCCESS);
    REQUIRE(d().cuStreamSynchronize(consumer) == CUDA_SUCCESS);
    const int got = result[size - 1];
    REQUIRE(d().cuCtxSynchronize() == CUDA_SUCCESS);
    destroy(ready);
    destroy(producer);
    destroy(consumer);
    buffer.free();
    CHECK(d().cuMemFreeHost(source) == CUDA_SUCCESS);
    CHECK(d().cuMemFreeHost(result) == CUDA_SUCCESS);
    return got;
}

} // namespace

TEST_CASE("a missing wait for an event is caught, and with it all is well", "[adversarial]") {
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

TEST_CASE("an asynchronous copy reads pinned memory as late as it can", "[adversarial]") {
    start(adversarial(1));
    Buffer buffer(0);
    unsigned char *source = pinned(1);
    const CUstream stream = make_stream();
    REQUIRE(d().cuMemcpyHtoDAsync(buffer.address, source, size, stream) == CUDA_SUCCESS);
    std::memset(source, 2, size); // too early
    REQUIRE(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(*static_cast<unsigned char *>(sim_control().view(buffer.address, size)) == 2);
    destroy(stream);
    buffer.free();
    CHECK(d().cuMemFreeHost(source) == CUDA_SUCCESS);
}

TEST_CASE("an asynchronous copy of pageable memory has read it when it returns", "[adversarial]") {
    start(adversarial(1));
    Buffer buffer(0);
    std::vector<unsigned char> source(size, 1);
    const CUstream stream = make_stream();
    REQUIRE(d().cuMemcpyHtoDAsync(buffer.address, source.data(), size, stream) == CUDA_SUCCESS);
    std::fill(source.begin(), source.end(), static_cast<unsigned char>(2));
    REQUIRE(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(*static_cast<unsigned char *>(sim_control().view(buffer.address, size)) == 1);
    destroy(stream);
    buffer.free();
}

TEST_CASE("pinned memory that is freed too early is caught", "[adversarial]") {
    start(adversarial(1));
    Buffer buffer(0);
    unsigned char *source = pinned(1);
    const CUstream stream = make_stream();
    REQUIRE(d().cuMemcpyHtoDAsync(buffer.address, source, size, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemFreeHost(source) == CUDA_SUCCESS);
    CHECK_FALSE(misuses().empty());
    CHECK(d().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    take_misuses();
    CHECK(d().cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}

TEST_CASE("device memory that is freed too early is caught", "[adversarial]") {
    start(adversarial(1));
    Buffer buffer(0);
    const CUstream stream = make_stream();
    REQUIRE(d().cuMemsetD8Async(buffer.address, 1, size, stream) == CUDA_SUCCESS);
    buffer.free();
    CHECK_FALSE(misuses().empty());
    CHECK(d().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    take_misuses();
    CHECK(d().cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}

TEST_CASE("waiting for one stream leaves others behind", "[adversarial]") {
    unsigned int left = 0;
    for (unsigned int seed = 1; seed <= seeds; ++seed) {
        start(adversarial(seed));
        RunOrder order;
        const CUstream one = make_stream(CU_STREAM_NON_BLOCKING),
                       two = make_stream(CU_STREAM_NON_BLOCKING);
        REQUIRE(order.launch(one, 1) == CUDA_SUCCESS);
        REQUIRE(order.launch(two, 2) == CUDA_SUCCESS);
        REQUIRE(d().cuStreamSynchronize(one) == CUDA_SUCCESS);
        CHECK(order.has(1));
        left += order.has(2) ? 0 : 1;
        REQUIRE(d().cuStreamSynchronize(two) == CUDA_SUCCESS);
        destroy(one);
        destroy(two);
    }
    CHECK(left > seeds / 2); // mostly
    CHECK(left < seeds);     // not always
}

TEST_CASE("an order is the same on every platform", "[adversarial]") {
    start(adversarial(42));
    RunOrder order;
    std::vector<CUstream> streams;
    for (int i = 0; i < 4; ++i) {
        streams.push_back(make_stream(CU_STREAM_NON_BLOCKING));
        REQUIRE(order.launch(streams.back(), 2 * i) == CUDA_SUCCESS);
        REQUIRE(order.launch(streams.back(), 2 * i + 1) == CUDA_SUCCESS);
    }
    REQUIRE(d().cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{2, 6, 4, 0, 5, 1, 7, 3});
    for (const CUstream stream : streams) {
        destroy(stream);
    }
}
