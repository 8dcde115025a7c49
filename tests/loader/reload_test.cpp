// An absent library is remembered until somebody asks to search again.
#include <catch2/catch_test_macros.hpp>

#include "machine.hpp"

using namespace cushim_test;

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

TEST_CASE("a reload that finds nothing either", "[reload_absent]") {
    set_variable("CUSHIM_DRIVER", "/nonexistent/first");
    CHECK_FALSE(cushim::load_driver());
    set_variable("CUSHIM_DRIVER", "/nonexistent/second");
    CHECK(cushim::reload().driver.state == CUSHIM_STATE_ABSENT);
    CHECK(std::string(driver_report().candidates[0].path) == "/nonexistent/second");
}
