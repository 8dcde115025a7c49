// A word of pinned memory that streams wait for and write.
#pragma once

#include "handles.hpp"

#include <atomic>

namespace sim_test {

struct PinnedWord : Unique {
    PinnedWord() {
        void *memory = allocate_pinned(4, 0);
        value = static_cast<std::atomic<std::uint32_t> *>(memory);
        require_ok(driver().cuMemHostGetDevicePointer(&address, memory, 0));
    }
    ~PinnedWord() {
        if (sim_control().view(address, 1) != nullptr) { // still allocated
            free();
        }
    }
    void free() { ok(driver().cuMemFreeHost(value)); }

    std::atomic<std::uint32_t> *value = nullptr;
    CUdeviceptr address = 0;
};

} // namespace sim_test
