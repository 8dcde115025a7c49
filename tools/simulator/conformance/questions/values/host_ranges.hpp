// Ranges of host memory for questions about its registration. None of them is a device's.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace record {

struct HostRange {
    std::string name;
    void *start; // null if the machine has no such memory
    std::size_t size;
};

// They stay mapped until the process ends.
std::vector<HostRange> host_ranges();

} // namespace record
