// IPC memory within one process; two_processes_test.cpp has two.
#include "pool_tools.hpp"

#include <deque>

using namespace sim_test;

namespace {

constexpr unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

CUipcMemHandle handle_of(CUdeviceptr address) {
    return got<CUipcMemHandle>(&Driver::cuIpcGetMemHandle, out, address);
}

bool same(const CUipcMemHandle &a, const CUipcMemHandle &b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

} // namespace

TEST_CASE("an allocation exports the same handle from each of its addresses") {
    CUipcMemHandle freed;
    {
        const DeviceMemory memory(4096);
        freed = handle_of(memory);
        CHECK(same(freed, handle_of(memory)));
        CHECK(same(freed, handle_of(memory + 100)));
    }
    std::deque<DeviceMemory> all;
    std::vector<CUipcMemHandle> handles{freed};
    for (std::size_t i = 0; i < 300; ++i) {
        handles.push_back(handle_of(all.emplace_back(1 + i)));
        CHECK_FALSE(same(handles[i], handles[i + 1]));
    }
}

TEST_CASE("exporting freed memory is reported") {
    CUipcMemHandle handle;
    const CUdeviceptr freed = allocate(4096);
    release(freed);
    CHECK(reported(driver().cuIpcGetMemHandle(&handle, freed), "cuIpcGetMemHandle") == invalid);
}

TEST_CASE("a handle of which any byte was changed is rejected") {
    const DeviceMemory memory(100);
    const auto valid = handle_of(memory);
    CUdeviceptr opened = 0;
    for (std::size_t i = 0; i < sizeof valid; ++i) {
        for (const unsigned char bits : {0x01, 0x80, 0xff}) {
            CUipcMemHandle handle = valid;
            handle.reserved[i] = static_cast<char>(handle.reserved[i] ^ static_cast<char>(bits));
            INFO("byte " << i << ", bits " << int(bits));
            CHECK(driver().cuIpcOpenMemHandle(&opened, handle, lazy) == invalid);
        }
    }
}

TEST_CASE("closing memory that was not opened is reported") {
    const auto memory = allocate(4096);
    CHECK(reported(driver().cuIpcCloseMemHandle(memory),
                   "cuIpcCloseMemHandle of memory that cuIpcOpenMemHandle did not return") ==
          invalid);
    release(memory);
    CHECK(reported(driver().cuIpcCloseMemHandle(memory), "cuIpcCloseMemHandle") == invalid);
}
