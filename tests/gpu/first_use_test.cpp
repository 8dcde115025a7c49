// First use of a real driver: raced by more threads than there are cores, and what it costs.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include <cushim/cushim.hpp>

namespace entry = cushim::entry;

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

} // namespace

// First in this file: the process has not used the driver yet.
TEST_CASE("128 threads race on the first use of every row", "[gpu]") {
    constexpr int count = 128;
    std::atomic<int> ready = 0;
    std::atomic<bool> go = false;
    std::vector<size_t> resolved(count);
    std::vector<int> versions(count);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            ++ready;
            while (!go)
                std::this_thread::yield();
            cushim::driver().cuDriverGetVersion(&versions[i]);
            resolved[i] = cushim_resolve_all(CUSHIM_LIBRARY_DRIVER);
        });
    while (ready != count)
        std::this_thread::yield();
    const auto begin = Clock::now();
    go = true;
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%d threads resolved every row in %.2f ms\n", count,
                nanoseconds_since(begin) / 1e6);
    REQUIRE(cushim::load_driver());
    for (size_t i = 0; i < count; ++i) {
        CHECK(versions[i] == cushim::driver_version().packed());
        CHECK(resolved[i] == resolved[0]);
    }
    CHECK(resolved[0] > 400);
    CHECK(*entry::cuInit::slot() != entry::cuInit::first());
}

TEST_CASE("a call through the table costs what a call through a pointer costs", "[gpu]") {
    const auto pointer = cushim::driver().pfn<entry::cuDriverGetVersion>().value();
    constexpr int calls = 1'000'000;
    double table = 1e18, bare = 1e18;
    int version = 0;
    for (int round = 0; round < 15; ++round) {
        auto begin = Clock::now();
        for (int i = 0; i < calls; ++i)
            cushim::driver().cuDriverGetVersion(&version);
        table = std::min(table, nanoseconds_since(begin) / calls);
        begin = Clock::now();
        for (int i = 0; i < calls; ++i)
            pointer(&version);
        bare = std::min(bare, nanoseconds_since(begin) / calls);
    }
    std::printf("cuDriverGetVersion: %.2f ns through the table, %.2f ns through a pointer\n", table,
                bare);
    CHECK(table < bare * 1.5 + 1); // a debug build, on a machine that does other things too
}
