// Planned faults: which call fails, when, how often, with which status.
#include "handles.hpp"

using namespace sim_test;

namespace {

// Plans a fault of the entry point, and returns its number.
std::uint64_t plan(const char *entry, int code, const cushim_sim_fault &how = {}) {
    cushim_sim_fault planned = how;
    planned.entry = entry;
    planned.code = code;
    return sim_control().plan_fault(&planned);
}

std::uint64_t fired(std::uint64_t number) {
    return sim_control().fault_fired(number);
}

template <class Call>
void check_takes(std::chrono::milliseconds least, const Call &call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    CHECK(std::chrono::steady_clock::now() - begin >= least);
}

int device_count() {
    return got<int>(&Driver::cuDeviceGetCount, out);
}

} // namespace

TEST_CASE("a fault fires once, at the Nth call after it was planned") {
    const auto number = plan("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY, {.nth = 3});
    REQUIRE(number != 0);
    check_all(CUDA_SUCCESS, {try_allocate(), try_allocate()});
    CHECK(fired(number) == 0);
    CHECK(try_allocate() == CUDA_ERROR_OUT_OF_MEMORY);
    ok(try_allocate());
    CHECK(fired(number) == 1);
}

TEST_CASE("a sticky fault fires at the Nth call and at all later ones") {
    const auto number =
        plan("cuMemAlloc_v2", CUDA_ERROR_ECC_UNCORRECTABLE, {.nth = 2, .sticky = 1});
    ok(try_allocate());
    check_all(CUDA_ERROR_ECC_UNCORRECTABLE, {try_allocate(), try_allocate()});
    CHECK(fired(number) == 2);
    sim_control().clear_faults();
    ok(try_allocate());
}

TEST_CASE("a fault instead of a call poisons its output, a fault after it keeps its effect") {
    plan("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
    CUdeviceptr p = 1234;
    CHECK(driver().cuMemAlloc(&p, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(p == 0xbdbdbdbdbdbdbdbd);
    CHECK(leaks().empty());
    p = allocate(64);
    plan("cuMemFree_v2", CUDA_ERROR_UNKNOWN, {.kind = CUSHIM_SIM_FAULT_AFTER});
    CHECK(driver().cuMemFree(p) == CUDA_ERROR_UNKNOWN);
    CHECK(leaks().empty());
}

TEST_CASE("a seed fails the same calls each time, another seed fails other calls") {
    const auto pattern = [](std::uint64_t seed) {
        start();
        std::string calls;
        for (std::uint64_t i = 0; i < 100; ++i) {
            sim_control().clear_faults();
            plan("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY,
                 {.probability = 0.3, .seed = seed * 1000 + i});
            calls += try_allocate() == CUDA_SUCCESS ? '.' : 'x';
        }
        return calls;
    };
    const std::string first = pattern(1);
    CHECK(first == pattern(1));
    CHECK(first != pattern(2));
    CHECK(first.find('x') != std::string::npos);
    CHECK(first.find('.') != std::string::npos);
}

TEST_CASE("a seed repeats all draws of a sticky fault, not only the first") {
    const auto pattern = [](std::uint64_t seed) {
        start("fault=cuMemAlloc:0:2:p=0.3:sticky:seed=" + std::to_string(seed));
        std::string calls;
        for (int i = 0; i < 20; ++i) {
            calls += try_allocate() == CUDA_SUCCESS ? '.' : 'x';
        }
        return calls;
    };
    std::set<std::size_t> first_failures;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::string calls = pattern(seed);
        INFO(seed << ": " << calls);
        CHECK(calls == pattern(seed));
        const std::size_t first = calls.find('x');
        first_failures.insert(first);
        // Sticky: all calls after the first failure fail.
        CHECK((first == std::string::npos || calls.find('.', first) == std::string::npos));
    }
    CHECK(first_failures.size() > 3); // later draws count as well
}

TEST_CASE("a fault with a probability fires once unless it is sticky") {
    const auto number =
        plan("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY, {.probability = 0.5, .seed = 3});
    int failed = 0;
    for (int i = 0; i < 100; ++i) {
        failed += try_allocate() == CUDA_SUCCESS ? 0 : 1;
    }
    CHECK(failed == 1);
    CHECK(fired(number) == 1);
}

TEST_CASE("a base name plans a fault of all versions and per-thread variants") {
    CHECK(plan("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY) != 0);
    CHECK(try_allocate() == CUDA_ERROR_OUT_OF_MEMORY);
    const auto number = plan("cuStreamQuery", CUDA_ERROR_UNKNOWN, {.sticky = 1});
    CHECK(driver().cuStreamQuery(nullptr) == CUDA_ERROR_UNKNOWN);
    CHECK(driver().cuStreamQuery_ptsz(nullptr) == CUDA_ERROR_UNKNOWN);
    CHECK(fired(number) == 2);
    // A full name plans it for that entry point alone.
    sim_control().clear_faults();
    CHECK(plan("cuStreamQuery_ptsz", CUDA_ERROR_UNKNOWN) != 0);
    ok(driver().cuStreamQuery(nullptr));
    CHECK(driver().cuStreamQuery_ptsz(nullptr) == CUDA_ERROR_UNKNOWN);
}

TEST_CASE("faults of runtime calls can be planned before the runtime is loaded") {
    for (const char *known : {"cudaMalloc", "cudaMemcpyAsync", "cudaMemcpyAsync_ptsz"}) {
        CHECK(plan(known, 2) != 0);
    }
    CHECK(sim_control().configure("fault=cudaMallocc:1:2") == -1);
    CHECK(sim_control().configure("fault=cuda:1:2") == -1);
}

TEST_CASE("'*' names every entry point, an unknown name is rejected") {
    CHECK(plan("cuNoSuchThing", 1) == 0);
    CHECK(sim_control().plan_fault(nullptr) == 0);
    CHECK(plan("*", CUDA_ERROR_DEVICE_UNAVAILABLE) != 0);
    int count = 0;
    CHECK(driver().cuDeviceGetCount(&count) == CUDA_ERROR_DEVICE_UNAVAILABLE);
    ok(driver().cuDeviceGetCount(&count));
}

TEST_CASE("a delayed call takes at least its delay") {
    plan("cuDeviceGetCount", 0, {.kind = CUSHIM_SIM_FAULT_DELAY, .delay_us = 50'000});
    check_takes(std::chrono::milliseconds(50), [] { CHECK(device_count() == 1); });
}

TEST_CASE("other threads continue while a call is delayed") {
    start("fault=cuDeviceGetCount:1:0:delay=300000");
    std::atomic<bool> back{false};
    std::thread caller([&] {
        int count = 0;
        driver().cuDeviceGetCount(&count);
        back = true;
    });
    int passed = 0;
    while (!back) {
        ok(try_allocate());
        ++passed;
    }
    caller.join();
    CHECK(passed > 10);
}

TEST_CASE("a hanging call waits for release_hangs while other threads continue") {
    const auto number = plan("cuDeviceGetCount", 0, {.kind = CUSHIM_SIM_FAULT_HANG});
    std::atomic<bool> back{false};
    std::thread caller([&] {
        int count = 0;
        driver().cuDeviceGetCount(&count);
        back = true;
    });
    while (fired(number) == 0) {
        std::this_thread::yield();
    }
    ok(try_allocate());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(back);
    sim_control().release_hangs();
    caller.join();
    CHECK(back);
}

TEST_CASE("a hang that is not released ends after ten times the patience and is noted") {
    start("patience=20;fault=cuDeviceGetCount:1:0:hang");
    check_takes(std::chrono::milliseconds(200),
                [] { CHECK(device_count() == 1); }); // does its work at the end
    REQUIRE(notes().size() == 1);
    CHECK(notes()[0].find("cuDeviceGetCount hung as planned for 200 ms") == 0);
    CHECK(misuses().empty());
}

TEST_CASE("driver calls that the runtime makes do not count for a fault") {
    const auto number = plan("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY, {.nth = 2});
    ok(try_allocate());
    for (int i = 0; i < 3; ++i) {
        const RuntimeMemory memory(64);
    }
    CHECK(fired(number) == 0);
    CHECK(try_allocate() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(fired(number) == 1);
}

TEST_CASE("'*' counts each runtime call once") {
    plan("*", 999, {.nth = 3});
    void *memory = allocate_by_runtime(64);
    ok(runtime().cudaMemset(memory, 0, 64));
    CHECK(runtime().cudaFree(memory) == cudaErrorUnknown);
    ok(runtime().cudaFree(memory));
}

TEST_CASE("an asynchronous fault fails the next synchronization and all later calls") {
    for (const auto &mode : all_modes()) {
        INFO(mode);
        start(mode);
        const CUstream stream = make_stream();
        CUdeviceptr p = allocate(64);
        const auto number =
            plan("cuMemsetD8Async", CUDA_ERROR_ILLEGAL_ADDRESS, {.kind = CUSHIM_SIM_FAULT_ASYNC});
        ok(driver().cuMemsetD8Async(p, 0, 64, stream));
        CHECK(fired(number) == 1);
        CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(driver().cuMemAlloc(&p, 64) == CUDA_ERROR_ILLEGAL_ADDRESS);
        ok(driver().cuDevicePrimaryCtxReset(0)); // also frees the memory and destroys the stream
    }
}

TEST_CASE("the fault setting plans faults and rejects malformed ones") {
    configure("fault=cuMemAlloc_v2:2:2;fault=cuMemFree_v2:1:999:after");
    CUdeviceptr q = 0;
    const CUdeviceptr p = allocate(64);
    CHECK(driver().cuMemAlloc(&q, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(driver().cuMemFree(p) == CUDA_ERROR_UNKNOWN);
    CHECK(leaks().empty());
    for (const char *wrong :
         {"fault=cuMemAlloc_v2:2", "fault=cuNothing:1:2", "fault=cuMemAlloc_v2:1:2:never",
          "fault=cuMemAlloc:1:2:hang:after", "fault=cuMemAlloc:1:2:delay",
          "fault=cuMemAlloc:1:2:delay=x", "fault=cuMemAlloc:1:2:p=0", "fault=cuMemAlloc:1:2:p=1.5",
          "fault=cuMemAlloc:1:2:p=.5", "fault=cuMemAlloc:1:2:p=0.",
          "fault=cuMemAlloc:1:2:seed=", "fault=cuMemAlloc:1:2:"}) {
        INFO(wrong);
        CHECK(sim_control().configure(wrong) == -1);
    }
}

TEST_CASE("the fault setting covers every property of a fault") {
    start("fault=cuMemAlloc:2:2:sticky;fault=cuDeviceGetCount:1:999:p=1;"
          "fault=cuMemsetD8:1:0:delay=20000:sticky");
    ok(try_allocate());
    CHECK(try_allocate() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(try_allocate() == CUDA_ERROR_OUT_OF_MEMORY);
    int count = 0;
    CHECK(driver().cuDeviceGetCount(&count) == CUDA_ERROR_UNKNOWN);
    check_takes(std::chrono::milliseconds(40),
                [] { CHECK(driver().cuMemsetD8(0, 0, 0) == driver().cuMemsetD8(0, 0, 0)); });
    configure("fault=cuDeviceGetAttribute:1:0:hang");
    std::atomic<bool> back{false};
    std::thread caller([&] {
        int value = 0;
        driver().cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
        back = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(back);
    while (!back) { // on a busy machine, it begins to hang later
        sim_control().release_hangs();
        std::this_thread::yield();
    }
    caller.join();
}

TEST_CASE("an asynchronous fault of a call that enqueues no work is noted once") {
    start("fault=cuDeviceGetCount:1:700:async:sticky;fault=cuMemsetD8Async:2:999:async");
    int count = 0;
    ok(driver().cuDeviceGetCount(&count));
    ok(driver().cuDeviceGetCount(&count));
    REQUIRE(notes().size() == 1);
    CHECK(notes()[0].find("the fault planned for the work of cuDeviceGetCount had no "
                          "effect: cuDeviceGetCount in call ") == 0);
    const DeviceMemory memory(64);
    ok(driver().cuMemsetD8Async(memory, 1, 64, nullptr));
    ok(driver().cuMemsetD8Async(memory, 1, 64, nullptr));
    CHECK(driver().cuStreamSynchronize(nullptr) == CUDA_ERROR_UNKNOWN);
    CHECK(notes().size() == 1);
    REQUIRE(plan("cudaGetDeviceCount", 700, {.kind = CUSHIM_SIM_FAULT_ASYNC}) != 0);
    ok(runtime().cudaGetDeviceCount(&count));
    REQUIRE(notes().size() == 2);
    CHECK(notes()[1].find("cudaGetDeviceCount in call ") != std::string::npos);
}
