// Where the loader searches, and the precedence of the places.
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "machine.hpp"

using namespace support;

namespace {

#if defined(_WIN32)
const std::string conda_folder = "Library/bin/",
                  packages = "Lib/site-packages/nvidia/cuda_runtime/bin/";
#else
const std::string conda_folder = "lib/",
                  packages = "lib/python3.11/site-packages/nvidia/cuda_runtime/lib/";
#endif

// A machine with a runtime only in this place.
void expect_runtime_in(const char *variable, const std::string &folder) {
    const Folder machine;
    const std::string file = machine.copy(good_runtime(), folder + runtime_file_name());
    set_variable(variable, machine.path());
    find_nothing();                      // in all other places
    CHECK_FALSE(cushim::load_runtime()); // found, but not used without a driver
    check_loaded_from(runtime_report(), file);
    if (CUDA_VERSION >= 12000) { // a runtime of CUDA 11 has no version without a driver
        CHECK(cushim::runtime_version() == cushim::headers_version());
    }
}

} // namespace

TEST_CASE("without any library the reports have reasons and hints", "[nothing]") {
    find_nothing();
    CHECK(driver_report().state == CUSHIM_STATE_NOT_TRIED);
    CHECK(driver_report().reason == CUSHIM_REASON_NONE);
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(cushim::runtime().cudaSetDevice(0) == cudaErrorInsufficientDriver);
    for (const cushim_report *report : {&driver_report(), &runtime_report()}) {
        CHECK(report->state == CUSHIM_STATE_ABSENT);
        CHECK(report->candidate_count == 0);
        CHECK(std::string(report->hint) != "");
    }
    CHECK(driver_report().reason == CUSHIM_REASON_SWITCHED_OFF);
    // The places that the environment names were searched.
    CHECK(runtime_report().reason == CUSHIM_REASON_NOT_FOUND);
    CHECK(contains(runtime_report().explanation, "was not found"));
    CHECK_FALSE(cushim::driver_version());
    CHECK_FALSE(cushim::runtime_version());
}

TEST_CASE("CUSHIM_DRIVER names the driver", "[variable]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    CHECK(cushim::driver_version() == cushim::headers_version());
    check_loaded_from(driver_report(), good_driver());
    CHECK(std::string(driver_report().hint) == "");
    CHECK(cushim::try_driver());
    // The runtime is the one beside the driver.
    CHECK(cushim::load_runtime());
    check_loaded_from(runtime_report(), good_runtime());
}

TEST_CASE("without a runtime beside the chosen driver no other runtime is used", "[beside]") {
    const Folder folder;
    set_variable("CUSHIM_DRIVER", folder.copy(good_driver(), driver_file_name()));
    CHECK(cushim::runtime().cudaSetDevice(0) == cudaErrorSharedObjectInitFailed);
    CHECK(driver_report().state == CUSHIM_STATE_LOADED);
    CHECK(runtime_report().state == CUSHIM_STATE_ABSENT);
    CHECK(runtime_report().reason == CUSHIM_REASON_CHOSEN_PATH);
    CHECK(runtime_report().candidate_count == 1);
    CHECK(contains(runtime_report().explanation, "in the folder of the chosen driver"));
}

TEST_CASE("CUSHIM_DISABLE disables both libraries", "[disabled]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    set_variable("CUSHIM_DISABLE", "1");
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(cushim::runtime().cudaSetDevice(0) == cudaErrorInsufficientDriver);
    CHECK(driver_report().reason == CUSHIM_REASON_DISABLED);
    CHECK(runtime_report().reason == CUSHIM_REASON_DISABLED);
    CHECK(driver_report().candidate_count == 0);
    CHECK(contains(driver_report().hint, "CUSHIM_DISABLE"));
}

TEST_CASE("CUSHIM_DISABLE=0 has no effect", "[not_disabled]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    set_variable("CUSHIM_DISABLE", "0");
    CHECK(cushim::load_driver());
}

TEST_CASE("the runtime in CUDA_PATH is found", "[cuda_path]") {
    expect_runtime_in("CUDA_PATH", toolkit_folder);
}

TEST_CASE("the runtime in CUDA_HOME is found", "[cuda_home]") {
    expect_runtime_in("CUDA_HOME", toolkit_folder);
}

TEST_CASE("the runtime in CONDA_PREFIX is found", "[conda]") {
    expect_runtime_in("CONDA_PREFIX", conda_folder);
}

TEST_CASE("the runtime in an active Python environment is found", "[python]") {
    expect_runtime_in("VIRTUAL_ENV", packages);
}

TEST_CASE("a runtime of another major version is rejected", "[other_major]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    const std::string other = required_variable("FAKE_RUNTIME_OTHER_MAJOR");
    set_variable("CUSHIM_RUNTIME", other);
    CHECK(cushim::runtime().cudaSetDevice(0) == cudaErrorSharedObjectInitFailed);
    CHECK(runtime_report().state == CUSHIM_STATE_ABSENT);
    CHECK(outcome_of(runtime_report(), other) == CUSHIM_OUTCOME_WRONG_VERSION);
    CHECK(contains(runtime_report().explanation, "major version"));
}

TEST_CASE("a search continues after a runtime of another major version", "[goes_on]") {
#ifdef _WIN32
    if (CUDA_VERSION < 12000) {
        SKIP("a runtime of CUDA 11 has no version without a driver");
    }
#endif
    const Folder machine;
    // Under the file name of our major version, as a wrong symbolic link would have it.
    machine.copy(required_variable("FAKE_RUNTIME_OTHER_MAJOR"),
                 "first/" + toolkit_folder + runtime_file_name());
    const std::string good =
        machine.copy(good_runtime(), "second/" + toolkit_folder + runtime_file_name());
    set_variable("CUDA_PATH", machine / "first");
    set_variable("CUDA_HOME", machine / "second");
    find_nothing();                      // in all other places
    CHECK_FALSE(cushim::load_runtime()); // without a driver
    REQUIRE(runtime_report().candidate_count == 2);
    CHECK(runtime_report().candidates[0].outcome == CUSHIM_OUTCOME_WRONG_VERSION);
    CHECK(runtime_report().candidates[1].outcome == CUSHIM_OUTCOME_LOADED);
    check_loaded_from(runtime_report(), good);
}

TEST_CASE("a copy that the process has already loaded is used", "[already]") {
    fake_control_of(good_driver());
    fake_control_of(good_runtime());
    REQUIRE(cushim::configure({.system_search = false, .known_places = false}));
    CHECK(cushim::load_driver());
    CHECK(cushim::load_runtime());
    check_loaded_from(driver_report(), good_driver());
    check_loaded_from(runtime_report(), good_runtime());
    CHECK(contains(driver_report().candidates[0].detail, "already"));
}

TEST_CASE("a loaded copy is used before the system's search", "[already_first]") {
    fake_control_of(good_driver());
    REQUIRE(cushim::configure({.known_places = false}));
    CHECK(cushim::load_driver());
    check_loaded_from(driver_report(), good_driver());
}

TEST_CASE("a runtime whose path is chosen is used without a driver", "[chosen_alone]") {
    find_nothing();
    set_variable("CUSHIM_RUNTIME", good_runtime());
    CHECK_FALSE(cushim::load_driver());
    CHECK(cushim::load_runtime());
    check_loaded_from(runtime_report(), good_runtime());
}

#if !defined(_WIN32)
TEST_CASE("without a driver, a chosen runtime of another major version is rejected",
          "[chosen_other]") {
    find_nothing();
    const std::string other = required_variable("FAKE_RUNTIME_OTHER_MAJOR");
    set_variable("CUSHIM_RUNTIME", other);
    CHECK_FALSE(cushim::load_runtime());
    CHECK(outcome_of(runtime_report(), other) == CUSHIM_OUTCOME_WRONG_VERSION);
    CHECK(contains(runtime_report().explanation, "major version"));
}

TEST_CASE("a long search reports all candidates", "[many]") {
    find_nothing();
    const Folder machine;
    std::vector<std::string> files;
    for (int version = 0; version < 20; ++version) {
        const std::string folder =
            "lib/python3." + std::to_string(version) + "/site-packages/nvidia/cuda_runtime/lib/";
        files.push_back(machine.copy(required_variable("FAKE_RUNTIME_OTHER_MAJOR"),
                                     folder + runtime_file_name()));
    }
    set_variable("VIRTUAL_ENV", machine.path());
    CHECK_FALSE(cushim::load_runtime());
    CHECK(runtime_report().candidate_count == files.size());
    for (const std::string &file : files) {
        CHECK(outcome_of(runtime_report(), file) == CUSHIM_OUTCOME_WRONG_VERSION);
    }
}
#endif
