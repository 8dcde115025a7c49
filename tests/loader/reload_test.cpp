// An absent library stays absent until a reload.
#include <catch2/catch_test_macros.hpp>

#include "machine.hpp"

using namespace support;

namespace {

// A runtime was found without a driver; then CUSHIM_DRIVER names a driver with a runtime beside it.
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

TEST_CASE("an absent library is loaded by a reload and then stays loaded", "[reload]") {
    const Folder folder;
    set_variable("CUSHIM_DRIVER", folder / driver_file_name());
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(cushim::runtime().cudaSetDevice(0) == cudaErrorInsufficientDriver);
    const cushim_report &before = driver_report();

    const std::string file = folder.copy(good_driver(), driver_file_name());
    folder.copy(good_runtime(), runtime_file_name());
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED); // no second search
    const cushim::LoadReport after = cushim::reload();
    CHECK(after.driver.state == CUSHIM_STATE_LOADED);
    CHECK(after.runtime.state == CUSHIM_STATE_LOADED);
    CHECK(before.state == CUSHIM_STATE_ABSENT); // the old report is unchanged
    CHECK(std::string(before.candidates[0].path) == file);

    // Calls that failed earlier now reach the library.
    const fake_control &fake = *fake_control_of(file);
    fake.reset();
    CHECK(cushim::driver().cuInit(0) != CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(cushim::runtime().cudaSetDevice(0) != cudaErrorInsufficientDriver);

    // A loaded library stays loaded, whatever the environment says.
    set_variable("CUSHIM_DISABLE", "1");
    CHECK(&cushim::reload().driver == &after.driver);
    CHECK(after.driver.state == CUSHIM_STATE_LOADED);
}

TEST_CASE("a reload replaces an unused runtime by the one beside the new driver",
          "[reload_beside]") {
    const UnusedRuntime machine;
    CHECK(cushim::reload().runtime.state == CUSHIM_STATE_LOADED);
    check_loaded_from(runtime_report(), machine.beside);
    CHECK(cushim::load_runtime());
}

TEST_CASE("a reload of the driver alone also replaces an unused runtime", "[reload_driver]") {
    const UnusedRuntime machine;
    CHECK(cushim_reload(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED);
    CHECK(cushim::runtime().cudaSetDevice(0) != cudaErrorInsufficientDriver);
    check_loaded_from(runtime_report(), machine.beside);
}

TEST_CASE("a reload without success reports the new search", "[reload_absent]") {
    set_variable("CUSHIM_DRIVER", "/nonexistent/first");
    CHECK_FALSE(cushim::load_driver());
    set_variable("CUSHIM_DRIVER", "/nonexistent/second");
    CHECK(cushim::reload().driver.state == CUSHIM_STATE_ABSENT);
    CHECK(std::string(driver_report().candidates[0].path) == "/nonexistent/second");
}

TEST_CASE("reloads with the same result keep the report", "[reload_same]") {
    set_variable("CUSHIM_DRIVER", "/nonexistent/driver");
    set_variable("CUSHIM_RUNTIME", "/nonexistent/runtime");
    const cushim::LoadReport first = cushim::reload(), second = cushim::reload();
    CHECK(&first.driver == &second.driver);
    CHECK(&first.runtime == &second.runtime);
}

TEST_CASE("reloads that find an unused runtime again keep the report", "[reload_unused]") {
    find_nothing();
    const Folder toolkit;
    set_variable("CUDA_PATH", toolkit.path());
    toolkit.copy(good_runtime(), toolkit_folder + runtime_file_name());
    CHECK_FALSE(cushim::load_runtime());
    const cushim_report &before = runtime_report();
    CHECK(before.state == CUSHIM_STATE_LOADED);
    CHECK(&cushim::reload().runtime == &before);
}
