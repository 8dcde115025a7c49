// What the running test case has said that it expects of the simulator's reports.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sim_test {

struct Expectations {
    std::vector<std::size_t> taken; // indices of misuses that the test case expected
    bool leaks_allowed = false;
    std::string own_leak; // what start() retains
};
Expectations &expectations();

} // namespace sim_test
