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
    return driver().cuStreamSynchronize(stream);
}

CUdeviceptr allocate_in(CUstream stream, std::size_t size = 4096) {
    return got<CUdeviceptr>(&Driver::cuMemAllocAsync, out, size, stream);
}

void free_async(CUdeviceptr address, CUstream stream) {
    require_ok(driver().cuMemFreeAsync(address, stream));
}

bool any_has(const std::vector<std::string> &lines, const std::string &text) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto &line) { return support::contains(line, text); });
}

// After a fault the context is lost, with its streams and memory.
void lose_context() {
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    ok(driver().cuDevicePrimaryCtxReset(0));
}

} // namespace

TEST_CASE("memory can be allocated, used and freed in stream order in every mode") {
    start(GENERATE(from_range(all_modes())));
    const Stream stream(non_blocking);
    const auto address = allocate_in(stream);
    std::uint32_t fresh = 0;
    std::vector<std::uint32_t> host(1024);
    ok(driver().cuMemcpyDtoHAsync(&fresh, address, 4, stream));
    ok(driver().cuMemsetD32Async(address, 42, 1024, stream));
    ok(driver().cuMemcpyDtoHAsync(host.data(), address, 4096, stream));
    ok(driver().cuMemFreeAsync(address, stream));
    ok(finish(stream));
    CHECK(host == std::vector<std::uint32_t>(1024, 42));
    CHECK(fresh != 0);
}

TEST_CASE("a second free is rejected before and after the first has run") {
    start(GENERATE(from_range(all_modes())));
    const Stream stream(non_blocking);
    const auto address = allocate_in(stream);
    CHECK(reported(driver().cuMemFreeAsync(address + 16, stream),
                   "free of an address inside pool memory") == invalid);
    const CUdeviceptr plain = allocate(16); // can be freed in stream order, too
    ok(driver().cuMemsetD8Async(plain, 1, 16, stream));
    for (const CUdeviceptr memory : {address, plain}) {
        free_async(memory, stream);
        CHECK(reported(driver().cuMemFreeAsync(memory, stream), "free of ") == invalid);
    }
    CHECK(misuses().size() == 3);
    CHECK(reported(driver().cuMemFree(plain), "cuMemFree of memory that was freed") == invalid);
    ok(finish(stream));
    CHECK(reported(driver().cuMemFreeAsync(address, stream), "freed by cuMemFreeAsync") == invalid);
    CHECK(reported(driver().cuMemFree(address), "freed by cuMemFreeAsync") == invalid);
}

TEST_CASE("memory that is not freed is a leak, a failed allocation is not") {
    start("budget=4MiB");
    const Stream stream(non_blocking);
    CUdeviceptr address = 0;
    CHECK(driver().cuMemAllocAsync(&address, 5 * MiB, stream) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(leaks().size() == 1); // the stream
    address = allocate_in(stream, 4 * MiB);
    const auto lines = leaks();
    REQUIRE(lines.size() == 2);
    CHECK((any_has(lines, "pool memory") && any_has(lines, "made by cuMemAllocAsync")));
    free_async(address, stream);
    ok(finish(stream));
}

TEST_CASE("using memory after a stream-ordered free is caught in every mode") {
    start(GENERATE(from_range(all_modes())));
    const CUstream stream = make_stream(non_blocking);
    const auto address = allocate_in(stream);
    free_async(address, stream);
    const auto status = driver().cuMemsetD8Async(address, 1, 16, stream);
    const auto end = finish(stream);
    if (status == invalid) { // the free had run
        CHECK(end == CUDA_SUCCESS);
        expect_misuse("use of memory that was freed");
        destroy(stream);
        return;
    }
    CHECK(status == CUDA_SUCCESS);
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
        ok(driver().cuMemsetD8Async(address, 1, 16, second));
        const auto status = finish(second);
        if (status == CUDA_SUCCESS) {
            ++missed;
            free_async(address, first);
            ok(finish(first));
        } else {
            ++found;
            CHECK(status == CUDA_ERROR_ILLEGAL_ADDRESS);
            CHECK(any_has(misuses(), "before its allocation or after its free"));
            CHECK(driver().cuMemFreeAsync(address, first) == CUDA_ERROR_ILLEGAL_ADDRESS);
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
    ok(driver().cuEventRecord(event, first));
    ok(driver().cuStreamWaitEvent(second, event, 0));
    ok(driver().cuMemsetD8Async(address, 1, 16, second));
    ok(driver().cuEventRecord(event, second));
    ok(driver().cuStreamWaitEvent(first, event, 0));
    free_async(address, first);
    ok(finish(first));
    ok(finish(second));
}

TEST_CASE("freeing memory in another stream without an event is caught by some seeds") {
    int found = 0, before_allocation = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        start("mode=adversarial;seed=" + std::to_string(seed));
        const CUstream first = make_stream(non_blocking), second = make_stream(non_blocking);
        free_async(allocate_in(first), second);
        ok(finish(second));
        before_allocation +=
            any_has(misuses(), "is released while 1 enqueued operation needs it") ? 1 : 0;
        ok(finish(first));
        sim_control().clear_misuses();
        const auto address = allocate_in(first);
        ok(finish(first));
        ok(driver().cuMemsetD8Async(address, 1, 16, first));
        free_async(address, second);
        ok(finish(second));
        if (finish(first) != CUDA_SUCCESS) {
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
        ok(finish(stream));
    }
    ok(driver().cuMemFree(address));
    CHECK(leaks().size() == 1); // the stream
    CHECK(reported(driver().cuMemFreeAsync(address, stream), "free of memory that was freed") ==
          invalid);
    ok(finish(stream));
}

TEST_CASE("cuMemFree of stream-ordered memory does not wait for enqueued work") {
    start("mode=adversarial");
    const CUstream stream = make_stream(non_blocking);
    const auto address = allocate_in(stream);
    ok(driver().cuMemsetD8Async(address, 1, 16, stream));
    ok(reported(driver().cuMemFree(address), "is released while 1 enqueued operation needs it"));
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
    ok(driver().cuLaunchHostFunc(stream, wait, nullptr));
    CUdeviceptr address = 0; // returned at once
    ok(driver().cuMemAllocAsync(&address, 4096, stream));
    CHECK(address != 0);
    ok(driver().cuMemsetD8Async(address, 1, 16, other)); // too early
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
        require_ok(driver().cuMemsetD32Async(address, i, 1, stream));
        require_ok(driver().cuMemcpyDtoHAsync(&host[i], address, 4, stream));
        free_async(address, stream);
    }
    for (const auto &stream : streams) {
        ok(finish(stream));
    }
    for (std::uint32_t i = 0; i != 200; ++i) {
        CHECK(host[i] == i);
    }
}

TEST_CASE("a stream-ordered free that is planned to fail still frees") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto memory = allocate_in(nullptr);
    fail_work("cuMemFreeAsync", CUDA_ERROR_UNKNOWN);
    ok(driver().cuMemFreeAsync(memory, nullptr));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_UNKNOWN);
    CHECK(leaks().empty());
}

TEST_CASE("a reset runs pending frees of stream-ordered memory, and keeps the rest") {
    start(GENERATE(from_range(all_modes())));
    const auto before = free_memory();
    const auto address = allocate_in(nullptr);
    free_async(allocate_in(nullptr), nullptr);
    ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(leaks().size() == 1);
    require_ok(driver().cuDevicePrimaryCtxRelease(0));
    require_ok(driver().cuCtxSetCurrent(retain_primary(0)));
    ok(driver().cuMemFree(address));
    ok(driver().cuCtxSynchronize());
    CHECK(free_memory() == before);
    ok(driver().cuDevicePrimaryCtxRelease(0));
}

TEST_CASE("a stream may free memory that a graph allocated, but not a graph that of a stream") {
    start(GENERATE(from_range(all_modes())));
    const Stream stream(non_blocking);
    const auto other = allocate_in(stream);
    require_ok(begin_capture(stream, global));
    const auto address = allocate_in(stream);
    CHECK(driver().cuMemFreeAsync(other, stream) == invalid);
    const Graph graph(end_capture(stream));
    const Executable exec(graph);
    CHECK(reported(driver().cuMemFreeAsync(address, stream), "is not allocated") == invalid);
    ok(driver().cuGraphLaunch(exec, stream));
    ok(driver().cuMemsetD8Async(address, 1, 16, stream));
    free_async(address, stream);
    free_async(other, stream);
    ok(finish(stream));
}

TEST_CASE("threads can allocate and free in stream order concurrently") {
    start("mode=threaded");
    const Stream streams[4];
    CHECK(in_threads([&](std::size_t t) {
              const CUstream stream = streams[t];
              int failures = 0;
              for (int i = 0; i != 100; ++i) {
                  CUdeviceptr address = 0;
                  failures += driver().cuMemAllocAsync(&address, 100 + t, stream) != CUDA_SUCCESS;
                  failures += driver().cuMemsetD8Async(address, 1, 100, stream) != CUDA_SUCCESS;
                  failures += driver().cuMemFreeAsync(address, stream) != CUDA_SUCCESS;
              }
              failures += driver().cuStreamSynchronize(stream) != CUDA_SUCCESS;
              return failures;
          }) == std::vector<int>(4, 0));
}
