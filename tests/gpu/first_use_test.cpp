// First use of a real driver: a race of more threads than there are cores, and its cost.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <cushim/entry.hpp>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

#include "../support/in_threads.hpp"

namespace entry = cushim::entry;

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

} // namespace

// Must be first: the process must not have used the driver.
TEST_CASE("128 threads race for the first use of every row", "[gpu]") {
    constexpr int count = 128;
    std::vector<size_t> resolved(count);
    std::vector<int> versions(count);
    const auto begin = Clock::now();
    support::in_threads(count, [&](unsigned int i) {
        cushim::driver().cuDriverGetVersion(&versions[i]);
        resolved[i] = cushim_resolve_all(CUSHIM_LIBRARY_DRIVER);
    });
    std::printf("%d threads started and resolved every row in %.2f ms\n", count,
                nanoseconds_since(begin) / 1e6);
    REQUIRE(cushim::load_driver());
    for (size_t i = 0; i < count; ++i) {
        CHECK(versions[i] == cushim::driver_version().packed());
        CHECK(resolved[i] == resolved[0]);
    }
    CHECK(resolved[0] > 400);
    CHECK(*cushim::detail::slot_of<entry::cuInit>() != cushim::detail::first_of<entry::cuInit>());
}

TEST_CASE("a call through the table takes as long as a call through a pointer", "[gpu]") {
    const auto pointer = cushim::driver().pfn<entry::cuDriverGetVersion>().value();
    constexpr int calls = 1'000'000;
    double table = 1e18, bare = 1e18;
    int version = 0;
    for (int round = 0; round < 15; ++round) {
        auto begin = Clock::now();
        for (int i = 0; i < calls; ++i) {
            cushim::driver().cuDriverGetVersion(&version);
        }
        table = std::min(table, nanoseconds_since(begin) / calls);
        begin = Clock::now();
        for (int i = 0; i < calls; ++i) {
            pointer(&version);
        }
        bare = std::min(bare, nanoseconds_since(begin) / calls);
    }
    std::printf("cuDriverGetVersion: %.2f ns through the table, %.2f ns through a pointer\n", table,
                bare);
    CHECK(table < bare * 1.5 + 1); // allows for debug builds and other work of the machine
}
