// Memory that is allocated and freed in stream order.
#include "../support/contains.hpp"
#include "capture_tools.hpp"
#include "memory_tools.hpp"
#include "plan_fault.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

using namespace sim_test;

namespace {

CUresult finish(CUstream stream) {
    return d.cuStreamSynchronize(stream);
}

CUdeviceptr allocate_in(CUstream stream, std::size_t size = 4096) {
    return got<CUdeviceptr>(&Driver::cuMemAllocAsync, out, size, stream);
}

void free_async(CUdeviceptr address, CUstream stream) {
    REQUIRE(d.cuMemFreeAsync(address, stream) == good);
}

bool any_has(const std::vector<std::string> &lines, const std::string &text) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto &line) { return support::contains(line, text); });
}

// After a fault the context is lost, with its streams and memory.
void lose_context() {
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

} // namespace

TEST_CASE("memory can be allocated, used and freed in stream order in every mode") {
    start(GENERATE(from_range(all_modes())));
    const Stream stream(non_blocking);
    const auto address = allocate_in(stream);
    std::uint32_t fresh = 0;
    std::vector<std::uint32_t> host(1024);
    CHECK(d.cuMemcpyDtoHAsync(&fresh, address, 4, stream) == good);
    CHECK(d.cuMemsetD32Async(address, 42, 1024, stream) == good);
    CHECK(d.cuMemcpyDtoHAsync(host.data(), address, 4096, stream) == good);
    CHECK(d.cuMemFreeAsync(address, stream) == good);
    CHECK(finish(stream) == good);
    CHECK(host == std::vector<std::uint32_t>(1024, 42));
    CHECK(fresh != 0);
}

TEST_CASE("arguments of stream-ordered allocations and frees are checked") {
    const Stream stream(non_blocking);
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good); // not needed with a stream
    CUdeviceptr address = 0;
    CHECK(got(d.cuMemAllocAsync(&address, 0, stream), address) == 0);
    CHECK(d.cuMemAllocAsync(nullptr, 16, stream) == invalid);
    Calls{&Driver::cuMemAllocAsync}[CUDA_ERROR_OUT_OF_MEMORY] = {
        {&address, ~std::size_t(0), stream}, {&address, std::size_t(1) << 40, stream}};
    CHECK(address == 0xbdbdbdbdbdbdbdbd);
    CHECK(d.cuMemAllocFromPoolAsync(&address, 16, nullptr, stream) == invalid);
    CHECK(d.cuMemFreeAsync(0, stream) == good);
    CHECK(d.cuMemFreeAsync(0x1000, stream) == invalid);
    free_async(allocate_in(stream), stream);
    CHECK(d.cuMemAllocAsync(&address, 16, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuMemFreeAsync(address, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(finish(stream) == good);
}

TEST_CASE("a second free is rejected before and after the first has run") {
    start(GENERATE(from_range(all_modes())));
    const Stream stream(non_blocking);
    const auto address = allocate_in(stream);
    CHECK(reported(d.cuMemFreeAsync(address + 16, stream),
                   "free of an address inside pool memory") == invalid);
    const CUdeviceptr plain = allocate(16); // can be freed in stream order, too
    CHECK(d.cuMemsetD8Async(plain, 1, 16, stream) == good);
    for (const CUdeviceptr memory : {address, plain}) {
        free_async(memory, stream);
        CHECK(reported(d.cuMemFreeAsync(memory, stream), "free of ") == invalid);
    }
    CHECK(misuses().size() == 3);
    CHECK(reported(d.cuMemFree(plain), "cuMemFree of memory that was freed") == invalid);
    CHECK(finish(stream) == good);
    CHECK(reported(d.cuMemFreeAsync(address, stream), "freed by cuMemFreeAsync") == invalid);
    CHECK(reported(d.cuMemFree(address), "freed by cuMemFreeAsync") == invalid);
}

TEST_CASE("memory that is not freed is a leak, a failed allocation is not") {
    start("budget=4MiB");
    const Stream stream(non_blocking);
    CUdeviceptr address = 0;
    CHECK(d.cuMemAllocAsync(&address, 5 * MiB, stream) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(leaks().size() == 1); // the stream
    address = allocate_in(stream, 4 * MiB);
    const auto lines = leaks();
    REQUIRE(lines.size() == 2);
    CHECK((any_has(lines, "pool memory") && any_has(lines, "made by cuMemAllocAsync")));
    free_async(address, stream);
    CHECK(finish(stream) == good);
}

TEST_CASE("using memory after a stream-ordered free is caught in every mode") {
    start(GENERATE(from_range(all_modes())));
    const CUstream stream = make_stream(non_blocking);
    const auto address = allocate_in(stream);
    free_async(address, stream);
    const auto status = d.cuMemsetD8Async(address, 1, 16, stream);
    const auto end = finish(stream);
    if (status == invalid) { // the free had run
        CHECK(end == good);
        expect_misuse("use of memory that was freed");
        destroy(stream);
        return;
    }
    CHECK(status == good);
    CHECK(end == CUDA_ERROR_ILLEGAL_ADDRESS);
    // Reported twice: when the memory is freed, and when the work runs.
    expect_misuse("enqueued operation needs it");
    expect_misuse("use of memory that was freed");
    lose_context();
}

TEST_CASE("using memory in another stream before its allocation is caught by most seeds") {
    int found = 0, missed = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        start("mode=adversarial;seed=" + std::to_string(seed));
        const CUstream first = make_stream(non_blocking), second = make_stream(non_blocking);
        const auto address = allocate_in(first);
        CHECK(d.cuMemsetD8Async(address, 1, 16, second) == good);
        const auto status = finish(second);
        if (status == good) {
            ++missed;
            free_async(address, first);
            CHECK(finish(first) == good);
        } else {
            ++found;
            CHECK(status == CUDA_ERROR_ILLEGAL_ADDRESS);
            CHECK(any_has(misuses(), "before its allocation or after its free"));
            CHECK(d.cuMemFreeAsync(address, first) == CUDA_ERROR_ILLEGAL_ADDRESS);
            lose_context();
        }
    }
    CHECK(found > 0);
    CHECK(found > missed);
    sim_control().reset();
}

TEST_CASE("an event makes the use of memory in another stream valid") {
    start(GENERATE(from_range(all_modes())));
    const Event event(CU_EVENT_DISABLE_TIMING);
    const Stream first(non_blocking), second(non_blocking);
    const auto address = allocate_in(first);
    CHECK(d.cuEventRecord(event, first) == good);
    CHECK(d.cuStreamWaitEvent(second, event, 0) == good);
    CHECK(d.cuMemsetD8Async(address, 1, 16, second) == good);
    CHECK(d.cuEventRecord(event, second) == good);
    CHECK(d.cuStreamWaitEvent(first, event, 0) == good);
    free_async(address, first);
    CHECK(finish(first) == good);
    CHECK(finish(second) == good);
}

TEST_CASE("freeing memory in another stream without an event is caught by some seeds") {
    int found = 0, before_allocation = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        start("mode=adversarial;seed=" + std::to_string(seed));
        const CUstream first = make_stream(non_blocking), second = make_stream(non_blocking);
        free_async(allocate_in(first), second);
        CHECK(finish(second) == good);
        before_allocation +=
            any_has(misuses(), "is released while 1 enqueued operation needs it") ? 1 : 0;
        CHECK(finish(first) == good);
        sim_control().clear_misuses();
        const auto address = allocate_in(first);
        CHECK(finish(first) == good);
        CHECK(d.cuMemsetD8Async(address, 1, 16, first) == good);
        free_async(address, second);
        CHECK(finish(second) == good);
        if (finish(first) != good) {
            ++found;
            CHECK(any_has(misuses(), "is released while 1 enqueued operation needs it"));
            CHECK(any_has(misuses(), "use of memory that was freed"));
            lose_context();
        }
    }
    CHECK(found > 0);
    CHECK(before_allocation > 0);
    sim_control().reset();
}

TEST_CASE("cuMemFree can free stream-ordered memory") {
    start(GENERATE(from_range(all_modes())));
    const Stream stream(non_blocking);
    const auto address = allocate_in(stream);
    if (GENERATE(true, false)) {
        CHECK(finish(stream) == good);
    }
    CHECK(d.cuMemFree(address) == good);
    CHECK(leaks().size() == 1); // the stream
    CHECK(reported(d.cuMemFreeAsync(address, stream), "free of memory that was freed") == invalid);
    CHECK(finish(stream) == good);
}

TEST_CASE("cuMemFree of stream-ordered memory does not wait for enqueued work") {
    start("mode=adversarial");
    const CUstream stream = make_stream(non_blocking);
    const auto address = allocate_in(stream);
    CHECK(d.cuMemsetD8Async(address, 1, 16, stream) == good);
    CHECK(reported(d.cuMemFree(address), "is released while 1 enqueued operation needs it") ==
          good);
    CHECK(reported(finish(stream), "memory that was freed") == CUDA_ERROR_ILLEGAL_ADDRESS);
    lose_context();
}

TEST_CASE("a stream-ordered allocation takes effect after earlier work of its stream") {
    start("mode=threaded");
    static std::atomic<bool> open; // the work outlives the test case
    open = false;
    const CUstream stream = make_stream(non_blocking), other = make_stream(non_blocking);
    const auto wait = [](void *) {
        while (!open) {
            std::this_thread::yield();
        }
    };
    CHECK(d.cuLaunchHostFunc(stream, wait, nullptr) == good);
    CUdeviceptr address = 0; // returned at once
    CHECK(d.cuMemAllocAsync(&address, 4096, stream) == good);
    CHECK(address != 0);
    CHECK(d.cuMemsetD8Async(address, 1, 16, other) == good); // too early
    CHECK(finish(other) == CUDA_ERROR_ILLEGAL_ADDRESS);
    open = true;
    expect_misuse("before its allocation or after its free");
    lose_context();
    sim_control().reset();
}

TEST_CASE("many small allocations in several streams keep their contents") {
    start(GENERATE(from_range(all_modes())));
    const Stream streams[4];
    std::vector<std::uint32_t> host(200, 0);
    for (std::uint32_t i = 0; i != 200; ++i) {
        const CUstream stream = streams[i % 4];
        const auto address = allocate_in(stream, 4 + i * 13);
        REQUIRE(d.cuMemsetD32Async(address, i, 1, stream) == good);
        REQUIRE(d.cuMemcpyDtoHAsync(&host[i], address, 4, stream) == good);
        free_async(address, stream);
    }
    for (const auto &stream : streams) {
        CHECK(finish(stream) == good);
    }
    for (std::uint32_t i = 0; i != 200; ++i) {
        CHECK(host[i] == i);
    }
}

TEST_CASE("memory of one device can be allocated in a stream of another") {
    start("devices=2");
    const CUmemoryPool pool = default_pool(1);
    const Stream stream(non_blocking);
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAllocFromPoolAsync(&address, 64, pool, stream) == good);
    CHECK(got<int>(&Driver::cuPointerGetAttribute, out, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                   address) == 1);
    CHECK(got<CUmemoryPool>(&Driver::cuPointerGetAttribute, out,
                            CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) == pool);
    free_async(address, stream);
}

TEST_CASE("a stream-ordered free that is planned to fail still frees") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto memory = allocate_in(nullptr);
    fail_work("cuMemFreeAsync", CUDA_ERROR_UNKNOWN);
    CHECK(d.cuMemFreeAsync(memory, nullptr) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_UNKNOWN);
    CHECK(leaks().empty());
}

TEST_CASE("resetting a context frees its stream-ordered memory") {
    start(GENERATE(from_range(all_modes())));
    const auto before = free_memory();
    const auto address = allocate_in(nullptr);
    free_async(allocate_in(nullptr), nullptr);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    CHECK(d.cuMemFree(address) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    REQUIRE(d.cuDevicePrimaryCtxRelease(0) == good);
    REQUIRE(d.cuCtxSetCurrent(retain_primary(0)) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(free_memory() == before);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
}

TEST_CASE("a stream may free memory that a graph allocated, but not a graph that of a stream") {
    start(GENERATE(from_range(all_modes())));
    const Stream stream(non_blocking);
    const auto other = allocate_in(stream);
    REQUIRE(begin_capture(stream, global) == good);
    const auto address = allocate_in(stream);
    CHECK(d.cuMemFreeAsync(other, stream) == invalid);
    const Graph graph(end_capture(stream));
    const Executable exec(graph);
    CHECK(reported(d.cuMemFreeAsync(address, stream), "is not allocated") == invalid);
    CHECK(d.cuGraphLaunch(exec, stream) == good);
    CHECK(d.cuMemsetD8Async(address, 1, 16, stream) == good);
    free_async(address, stream);
    free_async(other, stream);
    CHECK(finish(stream) == good);
}

TEST_CASE("threads can allocate and free in stream order concurrently") {
    start("mode=threaded");
    const Stream streams[4];
    CHECK(in_threads([&](std::size_t t) {
              const CUstream stream = streams[t];
              int failures = 0;
              for (int i = 0; i != 100; ++i) {
                  CUdeviceptr address = 0;
                  failures += d.cuMemAllocAsync(&address, 100 + t, stream) != good;
                  failures += d.cuMemsetD8Async(address, 1, 100, stream) != good;
                  failures += d.cuMemFreeAsync(address, stream) != good;
              }
              failures += d.cuStreamSynchronize(stream) != good;
              return failures;
          }) == std::vector<int>(4, 0));
}
