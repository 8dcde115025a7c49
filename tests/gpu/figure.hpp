// Prints a measurement as a line that tools/ci/gpu_report.py reads. Each name is printed once per
// run and is clear without the name of the test. One GPU has no bandwidth between GPUs.
#pragma once

#include <cstdio>
#include <string>

namespace gpu_test {

inline void figure(const std::string &name, double value, const char *unit) {
    std::printf("figure: %s = %.6g %s\n", name.c_str(), value, unit);
}

} // namespace gpu_test
