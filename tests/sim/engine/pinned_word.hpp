// A word of pinned memory that streams wait for and write.
#pragma once

#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <cstdint>

namespace sim_test {

struct PinnedWord {
    PinnedWord() {
        void *memory = nullptr;
        REQUIRE(cushim::driver().cuMemHostAlloc(&memory, 4, 0) == CUDA_SUCCESS);
        value = static_cast<std::atomic<std::uint32_t> *>(memory);
        REQUIRE(cushim::driver().cuMemHostGetDevicePointer(&address, memory, 0) == CUDA_SUCCESS);
    }
    void free() { CHECK(cushim::driver().cuMemFreeHost(value) == CUDA_SUCCESS); }

    std::atomic<std::uint32_t> *value = nullptr;
    CUdeviceptr address = 0;
};

} // namespace sim_test
