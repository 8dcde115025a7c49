// IPC memory within one process; two_processes_test.cpp has two.
#include "pool_tools.hpp"

#include <deque>

using namespace sim_test;

namespace {

constexpr unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

CUipcMemHandle handle_of(CUdeviceptr address) {
    CUipcMemHandle handle;
    REQUIRE(d.cuIpcGetMemHandle(&handle, address) == good);
    return handle;
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

TEST_CASE("only memory from cuMemAlloc can be exported, and has the attribute") {
    CUipcMemHandle handle;
    const auto capable = [](CUdeviceptr address) {
        return got<int>(&Driver::cuPointerGetAttribute, out,
                        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address);
    };
    const CUdeviceptr freed = allocate(4096);
    release(freed);
    CHECK(reported(d.cuIpcGetMemHandle(&handle, freed), "cuIpcGetMemHandle") == invalid);
    const DeviceMemory memory(4096);
    CHECK(capable(memory) == 1);
    CHECK(capable(memory + 100) == 1);
    const PoolMemory pool(4096);
    const ManagedMemory managed(4096);
    const PinnedMemory pinned(4096);
    for (const CUdeviceptr other : {pool + 0, managed + 0, as_device(pinned)}) {
        CHECK(capable(other) == 0);
        CHECK(d.cuIpcGetMemHandle(&handle, other) == invalid);
    }
    Calls{&Driver::cuIpcGetMemHandle}[invalid] = {
        {&handle, 0}, {&handle, 0xdead0000}, {nullptr, memory}};
}

TEST_CASE("handles that no exporter wrote are rejected") {
    CUipcMemHandle handle{};
    CUdeviceptr opened = 1;
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == invalid);
    CHECK(opened != 0); // overwritten with an invalid address
    CHECK(opened != 1);
    std::memset(&handle, 0xff, sizeof handle);
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == invalid);

    // Changes each byte of a valid handle.
    const DeviceMemory memory(100);
    const auto valid = handle_of(memory);
    for (std::size_t i = 0; i < sizeof valid; ++i) {
        for (const unsigned char bits : {0x01, 0x80, 0xff}) {
            handle = valid;
            handle.reserved[i] = static_cast<char>(handle.reserved[i] ^ static_cast<char>(bits));
            INFO("byte " << i << ", bits " << int(bits));
            CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == invalid);
        }
    }
}

TEST_CASE("arguments of opening and closing a handle are checked, and a current context") {
    const auto memory = allocate(4096);
    auto handle = handle_of(memory);
    CUdeviceptr opened = 0;
    // The exporter itself can neither open nor close it.
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(opened != memory);
    CHECK(d.cuIpcCloseMemHandle(memory) == invalid);
    expect_misuse("cuIpcCloseMemHandle of memory that cuIpcOpenMemHandle did not return");
    CHECK(d.cuIpcOpenMemHandle(nullptr, handle, lazy) == invalid);
    for (const unsigned int flags : {0U, 2U, 3U, 0x80000001U, ~0U}) {
        CHECK(d.cuIpcOpenMemHandle(&opened, handle, flags) == invalid);
    }
    CHECK(d.cuIpcCloseMemHandle(0) == invalid);
    CHECK(d.cuIpcCloseMemHandle(0x1234) == invalid);
    {
        const WithoutContext none;
        CHECK(d.cuIpcGetMemHandle(&handle, memory) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == CUDA_ERROR_INVALID_CONTEXT);
        CHECK(d.cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_CONTEXT);
    }
    release(memory);
    CHECK(reported(d.cuIpcCloseMemHandle(memory), "cuIpcCloseMemHandle") == invalid);
}
