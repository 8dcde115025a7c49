// The toolkit's link stub is not a driver.
#include <catch2/catch_test_macros.hpp>

#include "machine.hpp"

using namespace support;

TEST_CASE("a link stub chosen by path is rejected", "[stub_path]") {
    const std::string stub = required_variable("FAKE_DRIVER_STUB");
    set_variable("CUSHIM_DRIVER", stub);
    int count = -7;
    CHECK(cushim::driver().cuDeviceGetCount(&count) == CUDA_ERROR_STUB_LIBRARY);
    CHECK(count == -7);
    CHECK(driver_report().state == CUSHIM_STATE_ABSENT);
    CHECK(driver_report().reason == CUSHIM_REASON_LINK_STUB);
    CHECK(outcome_of(driver_report(), stub) == CUSHIM_OUTCOME_LINK_STUB);
    CHECK(cushim::runtime().cudaSetDevice(0) == cudaErrorInsufficientDriver);
    const auto failed = cushim::try_driver();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind() == cushim::ErrorKind::stub_library);
    CHECK(failed.error().status() == CUDA_ERROR_STUB_LIBRARY);
    // Names of errors then come from the built-in table, not from the stub.
    const char *name = nullptr;
    CHECK(cushim::driver().cuGetErrorName(CUDA_ERROR_STUB_LIBRARY, &name) == CUDA_SUCCESS);
    CHECK(std::string(name) == "CUDA_ERROR_STUB_LIBRARY");
}

// meson.build puts only the stub's folder on LD_LIBRARY_PATH.
TEST_CASE("a link stub alone on the search path is rejected", "[stub_search]") {
    REQUIRE(cushim::configure({.known_places = false})); // excludes drivers of this machine
    if (cushim_load(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED) {
        SKIP("this machine has a driver behind the stub");
    }
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_STUB_LIBRARY);
    const cushim_report &report = driver_report();
    CHECK(report.reason == CUSHIM_REASON_LINK_STUB);
    CHECK(outcome_of(report, required_variable("FAKE_DRIVER_STUB")) == CUSHIM_OUTCOME_LINK_STUB);
    CHECK(contains(report.explanation, "link stub"));
    CHECK(contains(report.hint, "stubs"));
}

namespace {

// The search rejected one driver and then found the good one.
void expect_driver_behind(const std::string &first, cushim_outcome outcome) {
    CHECK(cushim::load_driver());
    const cushim_report &report = driver_report();
    REQUIRE(report.candidate_count == 2);
    CHECK(std::filesystem::equivalent(report.candidates[0].path, first));
    CHECK(report.candidates[0].outcome == outcome);
    CHECK(report.candidates[1].outcome == CUSHIM_OUTCOME_LOADED);
    check_loaded_from(report, good_driver());
    CHECK(cushim::driver_version() == cushim::headers_version());
}

} // namespace

// For these, meson.build puts a bad driver's folder before the good driver's on LD_LIBRARY_PATH.
TEST_CASE("a driver after the link stub is found", "[stub_first]") {
    expect_driver_behind(required_variable("FAKE_DRIVER_STUB"), CUSHIM_OUTCOME_LINK_STUB);
}

// Loading the truncated driver by name would end the process.
TEST_CASE("a driver after a truncated one is found", "[truncated_first]") {
    expect_driver_behind(required_variable("FAKE_DRIVER_TRUNCATED"), CUSHIM_OUTCOME_TRUNCATED);
}

TEST_CASE("a driver after a truncated one is found by a chosen name", "[truncated_name]") {
    set_variable("CUSHIM_DRIVER", driver_file_name());
    expect_driver_behind(required_variable("FAKE_DRIVER_TRUNCATED"), CUSHIM_OUTCOME_TRUNCATED);
}

// Otherwise a libcudart that looks for libcuda.so.1 later would find the stub in memory.
TEST_CASE("a rejected stub does not stay in the process", "[stub_gone]") {
    set_variable("CUSHIM_DRIVER", required_variable("FAKE_DRIVER_STUB"));
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_STUB_LIBRARY);
    set_variable("CUSHIM_DRIVER", good_driver());
    cushim::reload();
    CHECK(driver_report().state == CUSHIM_STATE_LOADED);
    CHECK(driver_report().candidate_count == 1);
    CHECK(outcome_of(driver_report(), good_driver()) == CUSHIM_OUTCOME_LOADED);
    CHECK(cushim::driver_version() == cushim::headers_version());
}
