// The results, without a library, of entry points that do not return a status.
#include "rows.hpp"

#include <cushim/table.hpp>

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

using namespace support;

// Every new kind of result needs a test here.
TEST_CASE("only three entry points do not return a status") {
    for (const Row &row : driver_rows) {
        INFO(row.name);
        CHECK(row.is_status);
    }
    std::set<std::string> others;
    for (const Row &row : runtime_rows) {
        if (!row.is_status) {
            others.insert(row.name);
        }
    }
    CHECK(others ==
          std::set<std::string>{"cudaCreateChannelDesc", "cudaGetErrorName", "cudaGetErrorString"});
}

TEST_CASE("without a runtime, errors have names and descriptions") {
    REQUIRE(cushim_load(CUSHIM_LIBRARY_RUNTIME) == CUSHIM_STATE_ABSENT);
    const auto runtime = cushim::runtime();
    CHECK(runtime.cudaGetErrorName(cudaErrorMemoryAllocation) ==
          std::string("cudaErrorMemoryAllocation"));
    CHECK(runtime.cudaGetErrorName(cudaSuccess) == std::string("cudaSuccess"));
    for (int code = 0; code != 1000; ++code) {
        INFO(code);
        const char *name = runtime.cudaGetErrorName(static_cast<cudaError_t>(code));
        const char *text = runtime.cudaGetErrorString(static_cast<cudaError_t>(code));
        REQUIRE(name != nullptr);
        REQUIRE(text != nullptr);
        CHECK(std::string(name) != "");
        CHECK(std::string(text) != "");
    }
}

TEST_CASE("without a runtime, cudaCreateChannelDesc returns the requested description") {
    REQUIRE(cushim_load(CUSHIM_LIBRARY_RUNTIME) == CUSHIM_STATE_ABSENT);
    const cudaChannelFormatDesc made =
        cushim::runtime().cudaCreateChannelDesc(8, 16, 24, 32, cudaChannelFormatKindFloat);
    CHECK(made.x == 8);
    CHECK(made.y == 16);
    CHECK(made.z == 24);
    CHECK(made.w == 32);
    CHECK(made.f == cudaChannelFormatKindFloat);
}

// Exceptions: functions that need no library, and functions that report earlier calls.
static const std::set<std::string> with_an_answer_of_their_own = {
    "cuGetErrorName",        "cuGetErrorString",     "cudaGetLastError",
    "cudaPeekAtLastError",   "cudaDriverGetVersion",
#if CUDART_VERSION >= 12000
    "cudaRuntimeGetVersion",
#endif
};
static const std::set<std::string> with_an_output_of_their_own = {
    "cuGetErrorName",        "cuGetErrorString", "cudaGetDeviceCount", "cudaDriverGetVersion",
#if CUDART_VERSION >= 12000
    "cudaRuntimeGetVersion",
#endif
};

TEST_CASE("without a library, every call fails and leaves its outputs unchanged") {
    for (const Rows *rows : {&driver_rows, &runtime_rows}) {
        const int absent = cushim_absent_status(rows->library);
        CHECK(absent == (rows->library == CUSHIM_LIBRARY_DRIVER ? 303 : 35));
        for (const Row &row : *rows) {
            INFO(row.name);
            Call call(Way::member, Values::harmless, 0);
            row.call(call);
            if (row.is_status && !with_an_answer_of_their_own.contains(row.name)) {
                CHECK(call.status() == absent);
            }
            CHECK(call.outputs_untouched() != with_an_output_of_their_own.contains(row.name));
            CHECK_FALSE(row.resolved());
        }
    }
}
