#include "report.hpp"
#include "memory.hpp"
#include "misuse.hpp"
#include "object.hpp"
#include "settings.hpp"

#include <cstdio>

namespace sim {

std::size_t for_each_leak(const Line &line) {
    std::size_t count = 0;
    Registry::get().for_each([&](const Object &object) {
        if (object.counted) {
            ++count;
            line(object.describe());
        }
    });
    AddressSpace::get().for_each([&](const Range &range) {
        if (range.counted) {
            ++count;
            line(range.describe());
        }
    });
    return count;
}

void report_at_exit() noexcept try {
    if (!settings().report) {
        return;
    }
    for_each_leak([](const std::string &text) {
        std::fprintf(stderr, "cushim-sim: leak: %s\n", text.c_str());
    });
    for_each_misuse([](const std::string &text) {
        std::fprintf(stderr, "cushim-sim: misuse: %s\n", text.c_str());
    });
} catch (...) { // a report must not end the process
}

} // namespace sim
