// The toolkit's link stub is not a driver.
#include <catch2/catch_test_macros.hpp>

#include "machine.hpp"

using namespace cushim_test;

TEST_CASE("the link stub by path", "[stub_path]") {
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
    // Names and texts of errors come from the built-in table then, not from the stub.
    const char *name = nullptr;
    CHECK(cushim::driver().cuGetErrorName(CUDA_ERROR_STUB_LIBRARY, &name) == CUDA_SUCCESS);
    CHECK(std::string(name) == "CUDA_ERROR_STUB_LIBRARY");
}

// meson.build puts the stub's folder first on LD_LIBRARY_PATH.
TEST_CASE("the link stub first on the search path", "[stub_search]") {
    cushim::Settings settings;
    settings.known_places = false; // whatever this machine has there
    REQUIRE(cushim::configure(settings));
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_STUB_LIBRARY);
    const cushim_report &report = driver_report();
    CHECK(report.state == CUSHIM_STATE_ABSENT);
    CHECK(report.reason == CUSHIM_REASON_LINK_STUB);
    CHECK(outcome_of(report, required_variable("FAKE_DRIVER_STUB")) == CUSHIM_OUTCOME_LINK_STUB);
    CHECK(std::string(report.explanation).find("link stub") != std::string::npos);
    CHECK(std::string(report.hint).find("stubs") != std::string::npos);
}

// The stub is given back: a libcudart that looks for libcuda.so.1 later must not find it in memory.
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

// meson.build puts a truncated libcuda.so.1 first on LD_LIBRARY_PATH: loading it by name would end
// the process.
TEST_CASE("a truncated driver first on the search path", "[truncated_search]") {
    cushim::Settings settings;
    settings.known_places = false;
    REQUIRE(cushim::configure(settings));
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(driver_report().reason == CUSHIM_REASON_UNUSABLE);
    REQUIRE(driver_report().candidate_count == 1);
    CHECK(driver_report().candidates[0].outcome == CUSHIM_OUTCOME_TRUNCATED);
}
