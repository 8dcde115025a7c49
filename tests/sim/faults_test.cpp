// Planned faults: which call fails, when, how often, with what.
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace sim_test;

namespace {

const auto d = cushim::driver();

cushim_sim_fault fault(const char *entry, int code) {
    cushim_sim_fault planned{};
    planned.entry = entry;
    planned.code = code;
    return planned;
}

CUresult allocate_and_free() {
    CUdeviceptr p = 0;
    const CUresult status = d.cuMemAlloc(&p, 64);
    if (status == CUDA_SUCCESS) {
        d.cuMemFree(p);
    }
    return status;
}

} // namespace

TEST_CASE("a fault fires once, at the Nth call from its planning on", "[faults]") {
    start();
    auto planned = fault("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
    planned.nth = 3;
    const auto number = sim_control().plan_fault(&planned);
    REQUIRE(number != 0);
    CHECK(allocate_and_free() == CUDA_SUCCESS);
    CHECK(allocate_and_free() == CUDA_SUCCESS);
    CHECK(sim_control().fault_fired(number) == 0);
    CHECK(allocate_and_free() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(allocate_and_free() == CUDA_SUCCESS);
    CHECK(sim_control().fault_fired(number) == 1);
}

TEST_CASE("a sticky fault fires from then on", "[faults]") {
    start();
    auto planned = fault("cuMemAlloc_v2", CUDA_ERROR_ECC_UNCORRECTABLE);
    planned.nth = 2;
    planned.sticky = 1;
    const auto number = sim_control().plan_fault(&planned);
    CHECK(allocate_and_free() == CUDA_SUCCESS);
    CHECK(allocate_and_free() == CUDA_ERROR_ECC_UNCORRECTABLE);
    CHECK(allocate_and_free() == CUDA_ERROR_ECC_UNCORRECTABLE);
    CHECK(sim_control().fault_fired(number) == 2);
    sim_control().clear_faults();
    CHECK(allocate_and_free() == CUDA_SUCCESS);
}

TEST_CASE("a fault instead of the call leaves its outputs alone and does nothing", "[faults]") {
    start();
    auto planned = fault("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
    sim_control().plan_fault(&planned);
    CUdeviceptr p = 1234;
    CHECK(d.cuMemAlloc(&p, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(p == 1234);
    CHECK(leaks().empty());
}

TEST_CASE("a fault after the effect has done the work", "[faults]") {
    start();
    CUdeviceptr p = 0;
    REQUIRE(d.cuMemAlloc(&p, 64) == CUDA_SUCCESS);
    auto planned = fault("cuMemFree_v2", CUDA_ERROR_UNKNOWN);
    planned.kind = CUSHIM_SIM_FAULT_AFTER;
    sim_control().plan_fault(&planned);
    CHECK(d.cuMemFree(p) == CUDA_ERROR_UNKNOWN);
    CHECK(leaks().empty());
}

TEST_CASE("a seeded probability gives the same calls each time, and other seeds others",
          "[faults]") {
    const auto pattern = [](std::uint64_t seed) {
        start();
        auto planned = fault("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
        planned.probability = 0.3;
        planned.seed = seed;
        std::string calls;
        for (int i = 0; i < 100; ++i) {
            sim_control().clear_faults();
            planned.seed = seed * 1000 + static_cast<std::uint64_t>(i);
            sim_control().plan_fault(&planned);
            calls += allocate_and_free() == CUDA_SUCCESS ? '.' : 'x';
        }
        return calls;
    };
    const std::string first = pattern(1);
    CHECK(first == pattern(1));
    CHECK(first != pattern(2));
    CHECK(first.find('x') != std::string::npos);
    CHECK(first.find('.') != std::string::npos);
}

TEST_CASE("'*' stands for every entry point, and an unknown name is refused", "[faults]") {
    start();
    auto planned = fault("cuNoSuchThing", 1);
    CHECK(sim_control().plan_fault(&planned) == 0);
    CHECK(sim_control().plan_fault(nullptr) == 0);
    planned = fault("*", CUDA_ERROR_DEVICE_UNAVAILABLE);
    CHECK(sim_control().plan_fault(&planned) != 0);
    int count = 0;
    CHECK(d.cuDeviceGetCount(&count) == CUDA_ERROR_DEVICE_UNAVAILABLE);
    CHECK(d.cuDeviceGetCount(&count) == CUDA_SUCCESS);
}

TEST_CASE("a delayed call takes its time and lets others pass", "[faults]") {
    start();
    auto planned = fault("cuDeviceGetCount", 0);
    planned.kind = CUSHIM_SIM_FAULT_DELAY;
    planned.delay_us = 50'000;
    sim_control().plan_fault(&planned);
    const auto begin = std::chrono::steady_clock::now();
    int count = 0;
    CHECK(d.cuDeviceGetCount(&count) == CUDA_SUCCESS);
    CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(50));
    CHECK(count == 1);
}

TEST_CASE("a hanging call waits to be released while others go on", "[faults]") {
    start();
    auto planned = fault("cuDeviceGetCount", 0);
    planned.kind = CUSHIM_SIM_FAULT_HANG;
    const auto number = sim_control().plan_fault(&planned);
    std::atomic<bool> back{false};
    std::thread caller([&] {
        int count = 0;
        d.cuDeviceGetCount(&count);
        back = true;
    });
    while (sim_control().fault_fired(number) == 0) {
        std::this_thread::yield();
    }
    CHECK(allocate_and_free() == CUDA_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(back);
    sim_control().release_hangs();
    caller.join();
    CHECK(back);
}

TEST_CASE("an asynchronous fault shows at the next synchronisation, and stays", "[faults]") {
    for (const auto &mode : all_modes()) {
        INFO(mode);
        start(mode);
        CUstream stream = nullptr;
        CUdeviceptr p = 0;
        REQUIRE(d.cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
        REQUIRE(d.cuMemAlloc(&p, 64) == CUDA_SUCCESS);
        auto planned = fault("cuMemsetD8Async", CUDA_ERROR_ILLEGAL_ADDRESS);
        planned.kind = CUSHIM_SIM_FAULT_ASYNC;
        const auto number = sim_control().plan_fault(&planned);
        CHECK(d.cuMemsetD8Async(p, 0, 64, stream) == CUDA_SUCCESS);
        CHECK(sim_control().fault_fired(number) == 1);
        CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(d.cuMemAlloc(&p, 64) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS); // which ends the memory and the stream
    }
}

TEST_CASE("faults can be planned by a setting, for child processes", "[faults]") {
    start();
    configure("fault=cuMemAlloc_v2:2:2;fault=cuMemFree_v2:1:999:after");
    CUdeviceptr p = 0, q = 0;
    CHECK(d.cuMemAlloc(&p, 64) == CUDA_SUCCESS);
    CHECK(d.cuMemAlloc(&q, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemFree(p) == CUDA_ERROR_UNKNOWN);
    CHECK(leaks().empty());
    CHECK(sim_control().configure("fault=cuMemAlloc_v2:2") == -1);
    CHECK(sim_control().configure("fault=cuNothing:1:2") == -1);
    CHECK(sim_control().configure("fault=cuMemAlloc_v2:1:2:never") == -1);
}
