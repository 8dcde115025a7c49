// Reports of the simulator that the running test case expects.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sim_test {

struct Expectations {
    std::vector<std::size_t> taken; // indices of misuses that the test case expected
    bool leaks_allowed = false;
    std::string own_leak;           // the context that start() retains
    std::vector<std::string> ended; // leaks of ended things that the test case expected
};
Expectations &expectations();

} // namespace sim_test
