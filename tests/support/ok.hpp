// Calls that must succeed for a test to continue: raw calls by their status, wrappers by their
// result, whose value is returned. A failure ends the test case and is printed with its line.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cushim/result.hpp>
#include <cushim/table.hpp>

#include <utility>

namespace support {

inline void ok(CUresult status, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (status != CUDA_SUCCESS) {
        FAIL(file << ":" << line << ": CUresult " << status);
    }
}
inline void ok(cudaError_t status, const char *file = __builtin_FILE(),
               int line = __builtin_LINE()) {
    if (status != cudaSuccess) {
        FAIL(file << ":" << line << ": cudaError_t " << status);
    }
}
inline void ok(const cushim::Result<void> &result, const char *file = __builtin_FILE(),
               int line = __builtin_LINE()) {
    if (!result) {
        FAIL(file << ":" << line << ": " << result.error().message());
    }
}
template <class T>
T ok(cushim::Result<T> result, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (!result) {
        FAIL(file << ":" << line << ": " << result.error().message());
    }
    return *std::move(result);
}

} // namespace support
