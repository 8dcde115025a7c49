// Calls that must succeed for a test to continue: raw calls by their status, wrappers by their
// result. A failure ends the test case and is printed.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cushim/result.hpp>
#include <cushim/table.hpp>

#include <utility>

namespace support {

inline void ok(CUresult status) {
    if (status != CUDA_SUCCESS) {
        FAIL("CUresult " << status);
    }
}
inline void ok(cudaError_t status) {
    if (status != cudaSuccess) {
        FAIL("cudaError_t " << status);
    }
}
inline void ok(const cushim::Result<void> &result) {
    if (!result) {
        FAIL(result.error().message());
    }
}
template <class T>
T ok(cushim::Result<T> result) {
    if (!result) {
        FAIL(result.error().message());
    }
    return *std::move(result);
}

} // namespace support
