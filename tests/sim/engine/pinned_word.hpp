// A word of pinned memory that streams wait for and write.
#pragma once

#include "handles.hpp"

#include <atomic>

namespace sim_test {

struct PinnedWord : Unique {
    PinnedWord() {
        void *memory = allocate_pinned(4, 0);
        value = static_cast<std::atomic<std::uint32_t> *>(memory);
        REQUIRE(d.cuMemHostGetDevicePointer(&address, memory, 0) == good);
    }
    ~PinnedWord() {
        if (sim_control().view(address, 1) != nullptr) { // still allocated
            free();
        }
    }
    void free() { CHECK(d.cuMemFreeHost(value) == good); }

    std::atomic<std::uint32_t> *value = nullptr;
    CUdeviceptr address = 0;
};

} // namespace sim_test
