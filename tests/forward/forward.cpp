// Every entry point, through the table: the library gets the caller's arguments, and the caller
// gets the library's result.
#include "forwarding.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace support;

namespace {

// Loads both, because the loader searches for a driver before it opens a runtime.
Library loaded(cushim_library library) {
    const bool driver = library == CUSHIM_LIBRARY_DRIVER;
    const Library known = {
        driver ? driver_rows : runtime_rows,
        *fake_control_of(required_variable(driver ? "CUSHIM_DRIVER" : "CUSHIM_RUNTIME"))};
    REQUIRE(cushim_load(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED);
    REQUIRE(cushim_load(CUSHIM_LIBRARY_RUNTIME) == CUSHIM_STATE_LOADED);
    REQUIRE(known.fake.row_count == known.rows.count);
    return known;
}

// The files that projects copy have no pfn().
std::size_t pointers_of([[maybe_unused]] const Rows &rows) {
#ifdef AMALGAMATED
    return 0;
#else
    return rows.count;
#endif
}

} // namespace

TEST_CASE("every function of a fake library returns a different result") {
    answers_differ(loaded(CUSHIM_LIBRARY_DRIVER));
    answers_differ(loaded(CUSHIM_LIBRARY_RUNTIME));
}

TEST_CASE("every driver entry point forwards every argument and its result") {
    forward_all(loaded(CUSHIM_LIBRARY_DRIVER), pointers_of(driver_rows));
}

TEST_CASE("every runtime entry point forwards every argument and its result") {
    forward_all(loaded(CUSHIM_LIBRARY_RUNTIME), pointers_of(runtime_rows));
}

TEST_CASE("the registry lists every row in the order of the headers") {
    registry_has_all(loaded(CUSHIM_LIBRARY_DRIVER));
    registry_has_all(loaded(CUSHIM_LIBRARY_RUNTIME));
}
