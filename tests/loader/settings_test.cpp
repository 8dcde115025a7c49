// Settings in code: accepted before the first search, rejected after it, with lower precedence than
// the user's environment.
#include <catch2/catch_test_macros.hpp>

#include "in_threads.hpp"
#include "machine.hpp"

using namespace support;

TEST_CASE("a path in code is used", "[code]") {
    const std::string driver = good_driver(), runtime = good_runtime();
    REQUIRE(cushim::configure({.driver_path = driver.c_str(), .runtime_path = runtime.c_str()}));
    CHECK(cushim::load_driver());
    CHECK(cushim::load_runtime());
    check_loaded_from(driver_report(), good_driver());
    check_loaded_from(runtime_report(), good_runtime());
}

TEST_CASE("if a path in code cannot be loaded, no other library is used", "[bad_code]") {
    REQUIRE(cushim::configure({.driver_path = "/nonexistent/driver"}));
    CHECK_FALSE(cushim::load_driver());
    CHECK(driver_report().reason == CUSHIM_REASON_CHOSEN_PATH);
    CHECK(driver_report().candidate_count == 1);
}

TEST_CASE("a variable takes precedence over the code", "[wins]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    REQUIRE(cushim::configure({.driver_path = "/nonexistent/driver"}));
    CHECK(cushim::load_driver());
}

TEST_CASE("variables are ignored if the program says so", "[unheeded]") {
    set_variable("CUSHIM_DRIVER", "/nonexistent/driver");
    set_variable("CUSHIM_DISABLE", "1");
    const std::string driver = good_driver();
    REQUIRE(cushim::configure({.driver_path = driver.c_str(), .environment = false}));
    CHECK(cushim::load_driver());
}

TEST_CASE("the last settings before the search count", "[last]") {
    const std::string driver = good_driver();
    REQUIRE(cushim::configure({.driver_path = "/nonexistent/driver"}));
    REQUIRE(cushim::configure({.driver_path = driver.c_str()}));
    CHECK(cushim::load_driver());
}

TEST_CASE("settings after the first search are rejected", "[late]") {
    set_variable("CUSHIM_DISABLE", "1");
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    const auto refused = cushim::configure({});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind() == cushim::ErrorKind::invalid_argument);
    CHECK(contains(refused.error().message(),
                   "configure: the search for the CUDA libraries has already begun"));
    cushim_settings raw = {nullptr, nullptr, CUSHIM_SEARCH_EVERYWHERE};
    CHECK(cushim_configure(&raw) == CUSHIM_CONFIGURE_TOO_LATE);
    raw.search = 16;
    CHECK(cushim_configure(&raw) == CUSHIM_CONFIGURE_INVALID);
    CHECK(cushim_configure(nullptr) == CUSHIM_CONFIGURE_INVALID);
}

TEST_CASE("settings without any place to search are the reported reason", "[switched_off]") {
    find_nothing();
    const auto failed = cushim::load_driver();
    REQUIRE_FALSE(failed);
    CHECK(driver_report().reason == CUSHIM_REASON_SWITCHED_OFF);
    CHECK(driver_report().candidate_count == 0);
    const std::string message = failed.error().message();
    INFO(message);
    CHECK(contains(message, "settings disable every search location"));
    CHECK(contains(message, "the driver's path in CUSHIM_DRIVER"));
    // The runtime is searched for in the places that the environment names.
    CHECK_FALSE(cushim::load_runtime());
    CHECK(runtime_report().reason == CUSHIM_REASON_NOT_FOUND);
}

TEST_CASE("the hint names no variable that the settings ignore", "[switched_off_all]") {
    REQUIRE(cushim::configure({.environment = false,
                               .already_loaded = false,
                               .system_search = false,
                               .known_places = false}));
    CHECK_FALSE(cushim::load_runtime());
    for (const cushim_report *report : {&driver_report(), &runtime_report()}) {
        CHECK(report->reason == CUSHIM_REASON_SWITCHED_OFF);
        CHECK(std::string(report->hint).find("CUSHIM_") == std::string::npos);
        CHECK(contains(report->hint, "program's settings"));
    }
}

TEST_CASE("a path that is too long is rejected", "[too_long]") {
    const std::string longest(3999, 'x'), path(4000, 'x');
    CHECK(cushim::configure({.driver_path = longest.c_str(), .runtime_path = longest.c_str()}));
    CHECK_FALSE(cushim::configure({.driver_path = path.c_str()}));
    CHECK_FALSE(cushim::configure({.runtime_path = path.c_str()}));
}

TEST_CASE("settings are rejected after a concurrent first search", "[settings_race]") {
    const std::string driver = good_driver();
    in_threads(8, [&](unsigned int i) {
        for (int round = 0; round < 50; ++round) {
            if (i % 2 == 0) {
                (void)cushim::configure({.driver_path = driver.c_str()});
            } else if (round == 25) {
                (void)cushim::driver().cuInit(0);
            }
        }
    });
    CHECK_FALSE(cushim::configure({}));
    CHECK(driver_report().state != CUSHIM_STATE_NOT_TRIED);
}
