// A Workplace for tests that restart the simulator.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include "../../support/workplace.hpp"
#include "scenario.hpp"

namespace api_test {

// On the first device, after restart(""). Nothing is captured.
inline support::Workplace make_place() {
    restart("");
    support::Workplace place = ok(support::Workplace::first());
    CHECK_FALSE(*place.stream.is_capturing());
    return place;
}

} // namespace api_test
