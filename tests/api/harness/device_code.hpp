// Kernels for the tests, as PTX; on the simulator, which runs no device code, as functions of the
// host.
#pragma once

#include <cushim/cushim.hpp>

namespace api_test {

/* What is in it:
 *     fill(int *to, int value, unsigned int count)
 *     add(const float *a, const float *b, float *sum, unsigned int count)
 *     line(float *values, Line line, unsigned int count)   values[i] = line.slope * values[i] +
 * line.offset idle() unsigned int counter = 42; char odd[10]; __constant__ float weights[4] = {1,
 * 2, 3, 4} */
extern const char device_code[];
inline constexpr unsigned int device_code_kernels = 4;

struct Line {
    float slope;
    float offset;
};

using Fill = void(int *, int, unsigned int);
using Add = void(const float *, const float *, float *, unsigned int);
using Scale = void(float *, Line, unsigned int);

// int shared_value, managed.
extern const char managed_code[];

// idle() for compute capability 9.0, whose devices have clusters. Drivers since CUDA 11.8 take it.
extern const char cluster_code[];

// An instruction that there is none of.
extern const char broken_code[];

// Lets the simulator run the kernels, after each restart; nothing on a real driver.
void register_kernels();

// The module with all of them, and registers them.
cushim::Result<cushim::Module> load_device_code(const cushim::Context &context);

} // namespace api_test
