// Memory that is allocated and freed in the order of streams.
#include "plan_fault.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

using namespace sim_test;

namespace {

// Since lose_context(), and until the next stream is made.
bool context_is_lost = false;

struct WorkStream : Unique {
    explicit WorkStream(unsigned int flags = CU_STREAM_NON_BLOCKING) {
        context_is_lost = false;
        REQUIRE(d.cuStreamCreate(&handle, flags) == good);
    }
    ~WorkStream() {
        if (!context_is_lost) { // it went with its context
            d.cuStreamDestroy(handle);
        }
    }
    operator CUstream() const { return handle; }
    CUresult synchronize() const { return d.cuStreamSynchronize(handle); }
    CUstream handle = nullptr;
};

CUdeviceptr allocate_in(CUstream stream, std::size_t size = 4096) {
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAllocAsync(&address, size, stream) == good);
    return address;
}

void free_async(CUdeviceptr address, CUstream stream) {
    REQUIRE(d.cuMemFreeAsync(address, stream) == good);
}

bool was_reported(const std::string &text) {
    const auto lines = misuses();
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto &line) { return line.find(text) != std::string::npos; });
}

// After a fault the context is gone: everything of it, too.
void lose_context() {
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    context_is_lost = true;
}

// A host function that waits until it is let go.
struct Gate {
    static void CUDA_CB wait(void *gate) {
        while (!static_cast<Gate *>(gate)->open.load()) {
            std::this_thread::yield();
        }
    }
    std::atomic<bool> open{false};
};
// Whatever happens in a test case: who waits at the gate must not wait for ever.
struct OpenedAtEnd {
    explicit OpenedAtEnd(Gate &gate) : gate(gate) {}
    ~OpenedAtEnd() { gate.open = true; }
    Gate &gate;
};

} // namespace

TEST_CASE("a stream is enough, no current context") {
    start();
    {
        WorkStream stream;
        REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
        const auto address = allocate_in(stream);
        CHECK(d.cuMemFreeAsync(address, stream) == good);
        CUdeviceptr other = 0;
        CHECK(d.cuMemAllocAsync(&other, 16, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(d.cuMemFreeAsync(address, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(stream.synchronize() == good);
    }
}

TEST_CASE("memory is allocated, used and freed in the order of a stream, in every mode") {
    start(GENERATE(from_range(all_modes())));
    WorkStream stream;
    const auto address = allocate_in(stream);
    std::vector<std::uint32_t> host(1024);
    CHECK(d.cuMemsetD32Async(address, 42, 1024, stream) == good);
    CHECK(d.cuMemcpyDtoHAsync(host.data(), address, 4096, stream) == good);
    CHECK(d.cuMemFreeAsync(address, stream) == good);
    CHECK(stream.synchronize() == good);
    CHECK(std::all_of(host.begin(), host.end(), [](auto v) { return v == 42; }));
}

TEST_CASE("fresh memory is not zero") {
    start();
    WorkStream stream;
    const auto address = allocate_in(stream);
    std::uint32_t value = 0;
    CHECK(d.cuMemcpyDtoHAsync(&value, address, 4, stream) == good);
    CHECK(stream.synchronize() == good);
    CHECK(value != 0);
    free_async(address, stream);
}

TEST_CASE("arguments") {
    start();
    WorkStream stream;
    CUdeviceptr address = 0;
    CHECK(got(d.cuMemAllocAsync(&address, 0, stream), address) == 0);
    CHECK(d.cuMemAllocAsync(nullptr, 16, stream) == invalid);
    CHECK(d.cuMemAllocAsync(&address, ~std::size_t(0), stream) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemAllocAsync(&address, std::size_t(1) << 40, stream) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(address == 0xbdbdbdbdbdbdbdbd);
    CHECK(d.cuMemAllocFromPoolAsync(&address, 16, nullptr, stream) == invalid);
    CHECK(d.cuMemFreeAsync(0, stream) == good);
    CHECK(d.cuMemFreeAsync(0x1000, stream) == invalid);
}

TEST_CASE("a free needs the beginning of living stream-ordered memory") {
    start();
    WorkStream stream;
    const auto address = allocate_in(stream);
    CHECK(d.cuMemFreeAsync(address + 16, stream) == invalid);
    expect_misuse("free of an address inside pool memory");
    const CUdeviceptr plain = allocate(64);
    CHECK(d.cuMemFreeAsync(plain + 8, stream) == invalid);
    expect_misuse("free of an address inside device memory");
    REQUIRE(d.cuMemFree(plain) == good);
    void *host = allocate_pinned(16);
    const auto pinned = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(host));
    CHECK(d.cuMemFreeAsync(pinned, stream) == invalid);
    expect_misuse("stream-ordered free of pinned host memory");
    REQUIRE(d.cuMemFreeHost(host) == good);
    free_async(address, stream);
    CHECK(stream.synchronize() == good);
}

TEST_CASE("memory of cuMemAlloc is freed in stream order, too") {
    start(GENERATE(from_range(all_modes())));
    WorkStream stream;
    const CUdeviceptr plain = allocate(16);
    CHECK(d.cuMemsetD8Async(plain, 1, 16, stream) == good);
    CHECK(d.cuMemFreeAsync(plain, stream) == good);
    CHECK(d.cuMemFreeAsync(plain, stream) == invalid);
    expect_misuse("free of ");
    CHECK(d.cuMemFree(plain) == invalid);
    expect_misuse("cuMemFree of memory that was freed");
    CHECK(stream.synchronize() == good);
}

TEST_CASE("a second free is refused, whether the first ran or not") {
    start(GENERATE(from_range(all_modes())));
    WorkStream stream;
    const auto address = allocate_in(stream);
    free_async(address, stream);
    CHECK(d.cuMemFreeAsync(address, stream) == invalid);
    CHECK(misuses().size() == 1);
    expect_misuse("free of ");
    CHECK(stream.synchronize() == good);
    CHECK(d.cuMemFreeAsync(address, stream) == invalid);
    expect_misuse("freed by cuMemFreeAsync");
    CHECK(d.cuMemFree(address) == invalid);
    expect_misuse("freed by cuMemFreeAsync");
}

TEST_CASE("what was not freed is reported") {
    start();
    WorkStream stream;
    const auto address = allocate_in(stream);
    const auto lines = leaks();
    REQUIRE(lines.size() == 2); // and the stream
    CHECK(std::any_of(lines.begin(), lines.end(), [](const auto &line) {
        return line.find("pool memory") != std::string::npos &&
               line.find("made by cuMemAllocAsync") != std::string::npos;
    }));
    free_async(address, stream);
}

TEST_CASE("bytes written past the end are reported") {
    start();
    WorkStream stream;
    const auto address = allocate_in(stream, 100);
    auto *view = static_cast<unsigned char *>(sim_control().view(address, 100));
    REQUIRE(view != nullptr);
    view[100] = 1;
    free_async(address, stream);
    CHECK(stream.synchronize() == good);
    expect_misuse("bytes were written past the end of pool memory");
}

TEST_CASE("use after the free is found in every mode") {
    start(GENERATE(from_range(all_modes())));
    WorkStream stream;
    const auto address = allocate_in(stream);
    free_async(address, stream);
    const auto status = d.cuMemsetD8Async(address, 1, 16, stream);
    const auto end = stream.synchronize();
    if (status == invalid) { // it had run
        CHECK(end == good);
        expect_misuse("use of memory that was freed");
        return;
    }
    CHECK(status == good);
    CHECK(end == CUDA_ERROR_ILLEGAL_ADDRESS);
    // Two sides of it: the memory ended with work queued, and that work came.
    expect_misuse("enqueued operation needs it");
    expect_misuse("use of memory that was freed");
    lose_context();
}

TEST_CASE("use in another stream before the allocation is found where the order allows it") {
    int found = 0, missed = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        start("mode=adversarial;seed=" + std::to_string(seed));
        WorkStream first, second;
        const auto address = allocate_in(first);
        CHECK(d.cuMemsetD8Async(address, 1, 16, second) == good);
        const auto status = second.synchronize();
        if (status == good) {
            ++missed;
            free_async(address, first);
            CHECK(first.synchronize() == good);
        } else {
            ++found;
            CHECK(status == CUDA_ERROR_ILLEGAL_ADDRESS);
            CHECK(was_reported("before its allocation or after its free"));
            CHECK(d.cuMemFreeAsync(address, first) == CUDA_ERROR_ILLEGAL_ADDRESS);
            lose_context();
        }
    }
    CHECK(found > 0);
    CHECK(found > missed);
    sim_control().reset();
}

TEST_CASE("an event makes another stream's use legal, in every order") {
    start(GENERATE(from_range(all_modes())));
    const Event event(CU_EVENT_DISABLE_TIMING);
    {
        WorkStream first, second;
        const auto address = allocate_in(first);
        CHECK(d.cuEventRecord(event, first) == good);
        CHECK(d.cuStreamWaitEvent(second, event, 0) == good);
        CHECK(d.cuMemsetD8Async(address, 1, 16, second) == good);
        CHECK(d.cuEventRecord(event, second) == good);
        CHECK(d.cuStreamWaitEvent(first, event, 0) == good);
        free_async(address, first);
        CHECK(first.synchronize() == good);
        CHECK(second.synchronize() == good);
    }
}

TEST_CASE("a free in another stream without an event is found where the order allows it") {
    int found = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        start("mode=adversarial;seed=" + std::to_string(seed));
        WorkStream first, second;
        const auto address = allocate_in(first);
        CHECK(first.synchronize() == good);
        CHECK(d.cuMemsetD8Async(address, 1, 16, first) == good);
        free_async(address, second);
        CHECK(second.synchronize() == good);
        if (first.synchronize() != good) {
            ++found;
            CHECK(was_reported("is freed while 1 enqueued operation needs it"));
            CHECK(was_reported("use of memory that was freed"));
            lose_context();
        }
    }
    CHECK(found > 0);
    sim_control().reset();
}

TEST_CASE("a free in another stream before the allocation is found where the order allows it") {
    int found = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        start("mode=adversarial;seed=" + std::to_string(seed));
        WorkStream first, second;
        free_async(allocate_in(first), second);
        CHECK(second.synchronize() == good);
        found += was_reported("is freed while 1 enqueued operation needs it") ? 1 : 0;
        CHECK(first.synchronize() == good);
    }
    CHECK(found > 0);
    sim_control().reset();
}

TEST_CASE("cuMemFree frees stream-ordered memory, too") {
    start(GENERATE(from_range(all_modes())));
    WorkStream stream;
    const auto address = allocate_in(stream);
    if (GENERATE(true, false)) {
        CHECK(stream.synchronize() == good);
    }
    CHECK(d.cuMemFree(address) == good);
    CHECK(leaks().size() == 1); // the stream
    CHECK(d.cuMemFreeAsync(address, stream) == invalid);
    expect_misuse("free of memory that was freed");
    CHECK(stream.synchronize() == good);
}

TEST_CASE("cuMemFree does not wait for the streams that use it") {
    start("mode=adversarial");
    WorkStream stream;
    const auto address = allocate_in(stream);
    CHECK(d.cuMemsetD8Async(address, 1, 16, stream) == good);
    CHECK(d.cuMemFree(address) == good);
    expect_misuse("is freed while 1 enqueued operation needs it");
    CHECK(stream.synchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("use of memory that was freed");
    lose_context();
}

TEST_CASE("an allocation waits for its turn behind blocked work") {
    start("mode=threaded");
    static Gate gate; // outlives the stream's work
    gate.open = false;
    WorkStream stream, other;
    const OpenedAtEnd opened(gate);
    CHECK(d.cuLaunchHostFunc(stream, &Gate::wait, &gate) == good);
    const auto address = allocate_in(stream); // its address is there at once
    CHECK(address != 0);
    CHECK(d.cuMemsetD8Async(address, 1, 16, other) == good); // too early
    CHECK(other.synchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("before its allocation or after its free");
    gate.open = true;
    lose_context();
    sim_control().reset();
}

TEST_CASE("many small allocations, in many streams") {
    start(GENERATE(from_range(all_modes())));
    std::vector<std::unique_ptr<WorkStream>> streams;
    for (int i = 0; i != 4; ++i) {
        streams.push_back(std::make_unique<WorkStream>());
    }
    std::vector<std::uint32_t> host(200, 0);
    for (std::uint32_t i = 0; i != 200; ++i) {
        WorkStream &stream = *streams[i % 4];
        const auto address = allocate_in(stream, 4 + i * 13);
        REQUIRE(d.cuMemsetD32Async(address, i, 1, stream) == good);
        REQUIRE(d.cuMemcpyDtoHAsync(&host[i], address, 4, stream) == good);
        free_async(address, stream);
    }
    for (const auto &stream : streams) {
        CHECK(stream->synchronize() == good);
    }
    for (std::uint32_t i = 0; i != 200; ++i) {
        CHECK(host[i] == i);
    }
}

TEST_CASE("allocations of one device on a stream of another") {
    start("devices=2");
    const CUmemoryPool pool = default_pool(1);
    WorkStream stream;
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAllocFromPoolAsync(&address, 64, pool, stream) == good);
    CHECK(got<int>(&Driver::cuPointerGetAttribute, out, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                   address) == 1);
    free_async(address, stream);
}

TEST_CASE("the pool of a pointer is told") {
    start();
    CUmemoryPool told = nullptr;
    const CUmemoryPool pool = default_pool(0);
    WorkStream stream;
    const auto address = allocate_in(stream);
    CHECK(d.cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) == good);
    CHECK(told == pool);
    free_async(address, stream);
}

TEST_CASE("a failed allocation leaves nothing behind") {
    start("budget=4MiB");
    WorkStream stream;
    CUdeviceptr address = 0;
    CHECK(d.cuMemAllocAsync(&address, std::size_t(5) << 20, stream) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(leaks().size() == 1); // the stream
    free_async(allocate_in(stream, std::size_t(4) << 20), stream);
    CHECK(stream.synchronize() == good);
}

TEST_CASE("memory whose free is planned to fail is gone all the same") {
    start(GENERATE_COPY(from_range(all_modes())));
    CUdeviceptr memory = 0;
    REQUIRE(d.cuMemAllocAsync(&memory, 64, nullptr) == good);
    fail_work("cuMemFreeAsync", CUDA_ERROR_UNKNOWN);
    CHECK(d.cuMemFreeAsync(memory, nullptr) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_UNKNOWN);
    CHECK(leaks().empty());
}

TEST_CASE("a reset of the device ends its stream-ordered memory") {
    start(GENERATE(from_range(all_modes())));
    std::size_t before = 0, total = 0;
    REQUIRE(d.cuMemGetInfo(&before, &total) == good);
    CUdeviceptr address = 0, freed = 0;
    REQUIRE(d.cuMemAllocAsync(&address, 4096, nullptr) == good);
    REQUIRE(d.cuMemAllocAsync(&freed, 4096, nullptr) == good);
    REQUIRE(d.cuMemFreeAsync(freed, nullptr) == good);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    CHECK(d.cuMemFree(address) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    REQUIRE(d.cuDevicePrimaryCtxRelease(0) == good);
    REQUIRE(d.cuCtxSetCurrent(got<CUcontext>(&Driver::cuDevicePrimaryCtxRetain, out, 0)) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(got<std::size_t>(&Driver::cuMemGetInfo, out, &total) == before);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
}

TEST_CASE("captured allocations belong to the graph") {
    start(GENERATE(from_range(all_modes())));
    CUgraph graph = nullptr;
    WorkStream stream;
    std::uint32_t host = 0;
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == good);
    const auto address = allocate_in(stream);
    CHECK(d.cuMemsetD32Async(address, 0x31, 4, stream) == good);
    CHECK(d.cuMemcpyDtoHAsync(&host, address, 4, stream) == good);
    CHECK(d.cuMemFreeAsync(address, stream) == good);
    REQUIRE(d.cuStreamEndCapture(stream, &graph) == good);
    std::size_t count = 0;
    CHECK(got(d.cuGraphGetNodes(graph, nullptr, &count), count) == 4);
    const Executable exec(graph);
    for (int i = 0; i != 3; ++i) {
        host = 0;
        CHECK(d.cuGraphLaunch(exec, stream) == good);
        CHECK(stream.synchronize() == good);
        CHECK(host == 0x31);
    }
    CHECK(d.cuGraphDestroy(graph) == good);
}

TEST_CASE("a graph's allocation that it does not free is freed by a stream") {
    start(GENERATE(from_range(all_modes())));
    CUgraph graph = nullptr;
    WorkStream stream;
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == good);
    const auto address = allocate_in(stream);
    REQUIRE(d.cuStreamEndCapture(stream, &graph) == good);
    const Executable exec(graph);
    CHECK(d.cuMemFreeAsync(address, stream) == invalid); // not launched yet
    expect_misuse("is not allocated");
    CHECK(d.cuGraphLaunch(exec, stream) == good);
    CHECK(d.cuMemsetD8Async(address, 1, 16, stream) == good);
    CHECK(d.cuMemFreeAsync(address, stream) == good);
    CHECK(stream.synchronize() == good);
    CHECK(d.cuGraphDestroy(graph) == good);
}

TEST_CASE("a capture cannot free what no graph allocated") {
    start();
    WorkStream stream;
    const auto address = allocate_in(stream);
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == good);
    CHECK(d.cuMemFreeAsync(address, stream) == invalid);
    CHECK(d.cuGraphDestroy(got<CUgraph>(&Driver::cuStreamEndCapture, stream, out)) == good);
    free_async(address, stream);
}

TEST_CASE("threads allocate and free at the same time") {
    start("mode=threaded");
    std::vector<std::unique_ptr<WorkStream>> streams;
    std::vector<int> failures(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t != 4; ++t) {
        streams.push_back(std::make_unique<WorkStream>());
        threads.emplace_back([&failures, t, stream = streams.back()->handle] {
            for (int i = 0; i != 100; ++i) {
                CUdeviceptr address = 0;
                failures[t] += d.cuMemAllocAsync(&address, 100 + t, stream) != good;
                failures[t] += d.cuMemsetD8Async(address, 1, 100, stream) != good;
                failures[t] += d.cuMemFreeAsync(address, stream) != good;
            }
            failures[t] += d.cuStreamSynchronize(stream) != good;
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    CHECK(failures == std::vector<int>(4, 0));
}
