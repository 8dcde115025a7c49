// Threads race for the first use of every entry point; each gets the library's own result. A
// separate program, because a process has only one first use.
#include "fake_library.hpp"
#include "in_threads.hpp"
#include "rows.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace support;

namespace {

// These behave normally while the fake is not armed, and the loader also calls them.
const std::set<std::string> behaving = {"cuDriverGetVersion", "cudaRuntimeGetVersion",
                                        "cuGetProcAddress", "cuGetProcAddress_v2"};

struct Entry {
    const Row *row;
    const fake_control *fake;
    unsigned int number; // of the row in its library
};

void add(std::vector<Entry> &entries, const Rows &rows, const fake_control &fake) {
    REQUIRE(fake.row_count == rows.count);
    unsigned int number = 0;
    for (const Row &row : rows) {
        entries.push_back({&row, &fake, number++});
    }
}

// Half of the threads use the entry points in the same order, so that they meet at each of them.
// The others each use another order.
std::vector<Entry> order_of(unsigned int thread, std::vector<Entry> entries) {
    std::mt19937 random(thread % 2 == 0 ? 0u : thread);
    std::shuffle(entries.begin(), entries.end(), random);
    return entries;
}

bool answered(const Entry &entry) {
    Call call(Way::member, Values::harmless, 0);
    entry.row->call(call);
    unsigned char expected[FAKE_MAX_RESULT];
    const unsigned int size = entry.fake->answer(entry.number, expected);
    return behaving.contains(entry.row->name) ||
           (size == call.answer_size && std::memcmp(call.answer, expected, size) == 0);
}

// Runs in every thread. Returns the names whose result was not the library's.
std::vector<std::string> run(const std::vector<Entry> &entries) {
    std::vector<std::string> wrong;
    for (const Entry &entry : entries) {
        if (!answered(entry)) {
            wrong.emplace_back(entry.row->name);
        }
    }
    return wrong;
}

} // namespace

TEST_CASE("every thread that races for a first use gets the library's result") {
    const auto threads = static_cast<unsigned int>(std::stoul(required_variable("RACE_THREADS")));
    std::vector<Entry> entries;
    add(entries, driver_rows, *fake_control_of(required_variable("CUSHIM_DRIVER")));
    add(entries, runtime_rows, *fake_control_of(required_variable("CUSHIM_RUNTIME")));
    // Neither library may have been tried: the first of these calls must load it.
    REQUIRE(cushim_load_report(CUSHIM_LIBRARY_DRIVER)->state == CUSHIM_STATE_NOT_TRIED);
    REQUIRE(cushim_load_report(CUSHIM_LIBRARY_RUNTIME)->state == CUSHIM_STATE_NOT_TRIED);

    std::vector<std::vector<Entry>> orders;
    for (unsigned int i = 0; i != threads; ++i) {
        orders.push_back(order_of(i, entries));
    }
    std::vector<std::vector<std::string>> wrong(threads);
    in_threads(threads, [&](unsigned int i) { wrong[i] = run(orders[i]); });

    for (const auto &names : wrong) {
        CHECK(names == std::vector<std::string>{});
    }
    for (const Entry &entry : entries) {
        INFO(entry.row->name);
        CHECK(entry.row->resolved());
        if (!behaving.contains(entry.row->name)) {
            CHECK(entry.fake->calls(entry.number) == threads);
        } else {
            CHECK(entry.fake->calls(entry.number) >= threads);
        }
    }
}
