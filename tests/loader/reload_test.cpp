// An absent library is remembered until somebody asks to search again.
#include <catch2/catch_test_macros.hpp>

#include "machine.hpp"

using namespace support;

namespace {

// A runtime was found while there was no driver; then CUSHIM_DRIVER names one that has its own
// runtime.
struct UnusedRuntime {
    UnusedRuntime() {
        find_nothing();
        set_variable("CUDA_PATH", toolkit.path());
        const std::string unused =
            toolkit.copy(good_runtime(), toolkit_folder + runtime_file_name());
        CHECK_FALSE(cushim::load_runtime());
        check_loaded_from(runtime_report(), unused);
        set_variable("CUSHIM_DRIVER", elsewhere.copy(good_driver(), driver_file_name()));
        beside = elsewhere.copy(good_runtime(), runtime_file_name());
    }

    const Folder toolkit, elsewhere;
    std::string beside;
};

} // namespace

TEST_CASE("absent until reload, loaded for ever", "[reload]") {
    const Folder folder;
    set_variable("CUSHIM_DRIVER", folder / driver_file_name());
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(cushim::runtime().cudaSetDevice(0) == cudaErrorInsufficientDriver);
    const cushim_report &before = driver_report();

    const std::string file = folder.copy(good_driver(), driver_file_name());
    folder.copy(good_runtime(), runtime_file_name());
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED); // not searched again
    const cushim::LoadReport after = cushim::reload();
    CHECK(after.driver.state == CUSHIM_STATE_LOADED);
    CHECK(after.runtime.state == CUSHIM_STATE_LOADED);
    CHECK(before.state == CUSHIM_STATE_ABSENT); // the old report stays as it was
    CHECK(std::string(before.candidates[0].path) == file);

    // Calls that failed before reach the library now.
    const fake_control &fake = *fake_control_of(file);
    fake.reset();
    CHECK(cushim::driver().cuInit(0) != CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(cushim::runtime().cudaSetDevice(0) != cudaErrorInsufficientDriver);

    // Loaded is for ever, whatever the environment says then.
    set_variable("CUSHIM_DISABLE", "1");
    CHECK(&cushim::reload().driver == &after.driver);
    CHECK(after.driver.state == CUSHIM_STATE_LOADED);
}

TEST_CASE("a runtime that was never used gives way to the one beside a new driver",
          "[reload_beside]") {
    const UnusedRuntime machine;
    CHECK(cushim::reload().runtime.state == CUSHIM_STATE_LOADED);
    check_loaded_from(runtime_report(), machine.beside);
    CHECK(cushim::load_runtime());
}

TEST_CASE("a reload of the driver alone, too", "[reload_driver]") {
    const UnusedRuntime machine;
    CHECK(cushim_reload(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED);
    CHECK(cushim::runtime().cudaSetDevice(0) != cudaErrorInsufficientDriver);
    check_loaded_from(runtime_report(), machine.beside);
}

TEST_CASE("a reload that finds nothing either", "[reload_absent]") {
    set_variable("CUSHIM_DRIVER", "/nonexistent/first");
    CHECK_FALSE(cushim::load_driver());
    set_variable("CUSHIM_DRIVER", "/nonexistent/second");
    CHECK(cushim::reload().driver.state == CUSHIM_STATE_ABSENT);
    CHECK(std::string(driver_report().candidates[0].path) == "/nonexistent/second");
}
