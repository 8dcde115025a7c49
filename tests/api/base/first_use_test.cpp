// More threads than cores race on the first use of CUDA in a process: they resolve all rows of both
// tables and use all devices.
#include "harness/devices.hpp"

#include "support/child_process.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace api_test;
using namespace cushim;

namespace {

constexpr std::size_t thread_count = 128;

// The observations of one thread.
struct Seen {
    std::size_t driver_rows = 0;
    std::size_t runtime_rows = 0;
    int devices = -1;
    int version = -1;
    Result<void> used;
};

// The number of the thread selects the device.
Result<void> use_a_device(std::size_t number, int devices) {
    CUSHIM_TRY(const Device device,
               Device::get(static_cast<int>(number % static_cast<std::size_t>(devices))));
    CUSHIM_TRY(const Context context, Context::primary(device));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 100));
    const int value = static_cast<int>(number);
    CUSHIM_TRY_VOID(fill(context, buffer.span(), value));
    std::vector<int> values(100);
    CUSHIM_TRY_VOID(copy(context, std::span(values), buffer.span()));
    return values == std::vector<int>(100, value)
               ? Result<void>()
               : Error::invalid_argument("another thread's values");
}

Seen race(std::size_t number) {
    Seen seen;
    if (number % 2 == 0) {
        seen.driver_rows = cushim_resolve_all(CUSHIM_LIBRARY_DRIVER);
        seen.runtime_rows = cushim_resolve_all(CUSHIM_LIBRARY_RUNTIME);
    } else {
        seen.runtime_rows = cushim_resolve_all(CUSHIM_LIBRARY_RUNTIME);
        seen.driver_rows = cushim_resolve_all(CUSHIM_LIBRARY_DRIVER);
    }
    driver().cuDriverGetVersion(&seen.version);
    const auto devices = Device::count();
    seen.devices = devices ? *devices : -1;
    seen.used = seen.devices > 0 ? use_a_device(number, seen.devices)
                                 : Result<void>(Error::invalid_argument("no devices"));
    return seen;
}

// Starts all threads at once, in a process that has not used CUDA.
std::vector<Seen> race_all() {
    std::vector<Seen> seen(thread_count);
    std::vector<std::thread> threads;
    std::atomic<std::size_t> arriving = thread_count;
    for (std::size_t number = 0; number < thread_count; ++number) {
        threads.emplace_back([&, number] {
            --arriving;
            while (arriving != 0) {
                std::this_thread::yield();
            }
            seen[number] = race(number);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    return seen;
}

} // namespace

TEST_CASE("128 threads race on the first use of all rows of both tables", "[first_use]") {
    for (int round = 0; round < (simulator() != nullptr ? 3 : 10); ++round) {
        support::Child child("child: races on the first use", "devices=3");
        CHECK(child.passed());
    }
    // The simulator's older drivers are tested without a runtime.
    if (simulator() == nullptr && !load_runtime()) {
        SKIP("only driver rows were raced: " << load_report().runtime.explanation);
    }
}

TEST_CASE("child: races on the first use", "[.]") {
    support::Channel::of_parent();
    REQUIRE(cushim_load_report(CUSHIM_LIBRARY_DRIVER)->state == CUSHIM_STATE_NOT_TRIED);
    REQUIRE(cushim_load_report(CUSHIM_LIBRARY_RUNTIME)->state == CUSHIM_STATE_NOT_TRIED);
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Seen> all = race_all();
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    std::printf("%zu threads: %zu driver rows, %zu runtime rows, %d devices, %.1f ms\n",
                thread_count, all[0].driver_rows, all[0].runtime_rows, all[0].devices,
                passed.count());
    CHECK(all[0].driver_rows > 400);
    if (load_runtime()) {
        CHECK(all[0].runtime_rows > 200);
    } else {
        CHECK(all[0].runtime_rows == 0);
        WARN(load_report().runtime.explanation);
    }
    for (const Seen &seen : all) {
        CHECK(seen.driver_rows == all[0].driver_rows);
        CHECK(seen.runtime_rows == all[0].runtime_rows);
        CHECK(seen.version == driver_version().packed());
        CHECK(seen.devices == all[0].devices);
        INFO((seen.used ? "" : seen.used.error().message()));
        CHECK(seen.used.has_value());
    }
}
