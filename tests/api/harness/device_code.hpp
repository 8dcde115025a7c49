// Kernels for the tests: PTX for a GPU, host functions for the simulator, which runs no device
// code.
#pragma once

#include <cushim/module.hpp>

namespace api_test {

/* Contents:
 *     fill(int *to, int value, unsigned int count)
 *     add(const float *a, const float *b, float *sum, unsigned int count)
 *     line(float *values, Line line, unsigned int count)   applies slope and offset to each value
 *     idle()
 *     unsigned int counter = 42;
 *     char odd[10];
 *     __constant__ float weights[4] = {1, 2, 3, 4}; */
extern const char device_code[];
inline constexpr unsigned int device_code_kernels = 4;

struct Line {
    float slope;
    float offset;
};

using Fill = void(int *, int, unsigned int);
using Add = void(const float *, const float *, float *, unsigned int);
using Scale = void(float *, Line, unsigned int);

// A managed variable, int shared_value.
extern const char managed_code[];

// idle() for compute capability 9.0, whose devices have clusters. Requires a driver of CUDA 11.8.
extern const char cluster_code[];

// Code with an unknown instruction.
extern const char broken_code[];

// Registers the kernels with the simulator; required after each restart. No effect on a real
// driver.
void register_kernels();

// Registers the kernels and loads `device_code` as a module.
cushim::Result<cushim::Module> load_device_code(const cushim::Context &context);

} // namespace api_test
