// What a test measured, as a line that tools/dev test-gpu collects.
#pragma once

#include <cstdio>
#include <string>

namespace gpu_test {

inline void figure(const std::string &name, double value, const char *unit) {
    std::printf("figure: %s = %.6g %s\n", name.c_str(), value, unit);
}

} // namespace gpu_test
