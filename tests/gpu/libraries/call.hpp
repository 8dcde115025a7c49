// How a program of this folder calls a library: compiled once for each way.
//     CALL(cublas, cublasCreate)(&handle)
// USE_TABLES: through cushim's tables. Otherwise under the functions' own names, which the program
// links from the drop-ins or from NVIDIA's libraries.
#pragma once

#if defined(USE_TABLES)
#include <cushim/driver_table.hpp>
#include <cushim/runtime_table.hpp>
#define CALL(library, function) cushim::library().function
#else
#include <cuda.h>
#include <cuda_runtime_api.h>
#define CALL(library, function) function
#endif

#include <cstdio>
#include <cstdlib>
#include <vector>

// What a file does; 0 on success. program.cpp calls it, or a process that opened it as a plugin.
extern "C" __attribute__((visibility("default"))) int library_calls();

// Ends the program if a call fails: prints the call and its status.
#define REQUIRE_OK(call)                                                                           \
    do {                                                                                           \
        if (const long status = static_cast<long>(call); status != 0) {                            \
            std::printf("%s: status %ld\n", #call, status);                                        \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)

// Numbers in device memory.
template <class T>
class OnDevice {
  public:
    explicit OnDevice(std::size_t count) : count_(count) {
        REQUIRE_OK(CALL(runtime, cudaMalloc)(reinterpret_cast<void **>(&data_), count * sizeof(T)));
    }
    explicit OnDevice(const std::vector<T> &values) : OnDevice(values.size()) {
        REQUIRE_OK(CALL(runtime, cudaMemcpy)(data_, values.data(), count_ * sizeof(T),
                                             cudaMemcpyHostToDevice));
    }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;
    ~OnDevice() { CALL(runtime, cudaFree)(data_); }

    T *data() const { return data_; }
    std::vector<T> values() const {
        std::vector<T> values(count_);
        REQUIRE_OK(CALL(runtime, cudaMemcpy)(values.data(), data_, count_ * sizeof(T),
                                             cudaMemcpyDeviceToHost));
        return values;
    }

  private:
    std::size_t count_;
    T *data_ = nullptr;
};

// One line of the output, which a test compares between the ways.
template <class T>
void print_values(const char *what, const std::vector<T> &values) {
    double sum = 0, weighted = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        sum += static_cast<double>(values[i]);
        weighted += static_cast<double>(values[i]) * static_cast<double>(i % 97);
    }
    std::printf("%s: %zu values, sum %.9g, weighted %.9g\n", what, values.size(), sum, weighted);
}
