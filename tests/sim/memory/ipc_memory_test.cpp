// IPC memory as one process sees it; two_processes_test.cpp has the rest.
#include "handles.hpp"

#include <algorithm>
#include <array>
#include <cstring>

using namespace sim_test;

namespace {

CUipcMemHandle handle_of(CUdeviceptr address) {
    CUipcMemHandle handle;
    REQUIRE(d.cuIpcGetMemHandle(&handle, address) == good);
    return handle;
}

CUdeviceptr allocated(std::size_t size) {
    const CUdeviceptr address = allocate(size);
    return address;
}

bool same(const CUipcMemHandle &a, const CUipcMemHandle &b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

} // namespace

TEST_CASE("device memory exports, from any of its addresses, as often as one likes") {
    start();
    const auto memory = allocated(4096);
    const auto other = allocated(4096);
    const auto first = handle_of(memory);
    CHECK(same(first, handle_of(memory)));
    CHECK(same(first, handle_of(memory + 100)));
    CHECK_FALSE(same(first, handle_of(other)));
    CHECK(d.cuMemFree(memory) == good);
    CHECK(d.cuMemFree(other) == good);
}

TEST_CASE("a new allocation has another handle than the one before it") {
    start();
    const auto before = allocated(4096);
    const auto first = handle_of(before);
    CHECK(d.cuMemFree(before) == good);
    const auto after = allocated(4096);
    CHECK_FALSE(same(first, handle_of(after)));
    CHECK(d.cuMemFree(after) == good);
}

TEST_CASE("only memory of cuMemAlloc exports") {
    start();
    CUipcMemHandle handle;
    CUdeviceptr address = 0;

    SECTION("pool memory") {
        REQUIRE(d.cuMemAllocAsync(&address, 4096, nullptr) == good);
        CHECK(d.cuIpcGetMemHandle(&handle, address) == invalid);
        CHECK(d.cuMemFreeAsync(address, nullptr) == good);
        CHECK(d.cuStreamSynchronize(nullptr) == good);
    }
    SECTION("managed memory") {
        REQUIRE(d.cuMemAllocManaged(&address, 4096, CU_MEM_ATTACH_GLOBAL) == good);
        CHECK(d.cuIpcGetMemHandle(&handle, address) == invalid);
        CHECK(d.cuMemFree(address) == good);
    }
    SECTION("pinned host memory") {
        const PinnedMemory host(4096, 0);
        CHECK(d.cuIpcGetMemHandle(&handle, static_cast<CUdeviceptr>(
                                               reinterpret_cast<std::uintptr_t>(host.get()))) ==
              invalid);
    }
    SECTION("no memory") {
        CHECK(d.cuIpcGetMemHandle(&handle, 0) == invalid);
        CHECK(d.cuIpcGetMemHandle(&handle, 0xdead0000) == invalid);
    }
    SECTION("freed memory") {
        address = allocated(4096);
        REQUIRE(d.cuMemFree(address) == good);
        CHECK(d.cuIpcGetMemHandle(&handle, address) == invalid);
        expect_misuse("cuIpcGetMemHandle");
    }
    SECTION("nowhere to write to") {
        address = allocated(4096);
        CHECK(d.cuIpcGetMemHandle(nullptr, address) == invalid);
        CHECK(d.cuMemFree(address) == good);
    }
}

TEST_CASE("the attribute says which memory exports") {
    start();
    const auto capable = [&](CUdeviceptr address) {
        int answer = -1;
        REQUIRE(d.cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                        address) == good);
        return answer;
    };
    const auto memory = allocated(4096);
    CHECK(capable(memory) == 1);
    CHECK(capable(memory + 100) == 1);
    CHECK(d.cuMemFree(memory) == good);
    CUdeviceptr pool = 0, managed = 0;
    CHECK(capable(got(d.cuMemAllocAsync(&pool, 4096, nullptr), pool)) == 0);
    CHECK(d.cuMemFreeAsync(pool, nullptr) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == good);
    CHECK(capable(got(d.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL), managed)) == 0);
    CHECK(d.cuMemFree(managed) == good);
}

TEST_CASE("the exporter cannot open its own handle") {
    start();
    const auto memory = allocated(4096);
    const auto handle = handle_of(memory);
    CUdeviceptr opened = 0;
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
          CUDA_ERROR_INVALID_CONTEXT);
    CHECK(opened != memory);
    CHECK(d.cuIpcCloseMemHandle(memory) == invalid);
    expect_misuse("cuIpcCloseMemHandle of memory that cuIpcOpenMemHandle did not return");
    CHECK(d.cuMemFree(memory) == good);
}

TEST_CASE("handles that no exporter wrote are refused") {
    start();
    constexpr unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    CUipcMemHandle handle{};
    CUdeviceptr opened = 1;
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == invalid);
    CHECK(opened != 0); // written with what nobody can take for an address
    CHECK(opened != 1);
    std::memset(&handle, 0xff, sizeof handle);
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == invalid);

    // Each byte of a good one spoilt. None may crash, and none may open anything.
    const auto memory = allocated(100);
    const auto valid = handle_of(memory);
    for (std::size_t i = 0; i < sizeof valid; ++i) {
        for (const unsigned char bits : {0x01, 0x80, 0xff}) {
            handle = valid;
            handle.reserved[i] = static_cast<char>(handle.reserved[i] ^ static_cast<char>(bits));
            INFO("byte " << i << ", bits " << int(bits));
            CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == invalid);
        }
    }
    CHECK(d.cuMemFree(memory) == good);
}

TEST_CASE("arguments of open and close are checked") {
    start();
    const auto memory = allocated(4096);
    const auto handle = handle_of(memory);
    CUdeviceptr opened = 0;
    CHECK(d.cuIpcOpenMemHandle(nullptr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == invalid);
    for (const unsigned int flags : {0U, 2U, 3U, 0x80000001U, ~0U}) {
        CHECK(d.cuIpcOpenMemHandle(&opened, handle, flags) == invalid);
    }
    CHECK(d.cuIpcCloseMemHandle(0) == invalid);
    CHECK(d.cuIpcCloseMemHandle(0x1234) == invalid);
    CHECK(d.cuMemFree(memory) == good);
    CHECK(d.cuIpcCloseMemHandle(memory) == invalid);
    expect_misuse("cuIpcCloseMemHandle");
}

TEST_CASE("IPC memory needs a current context") {
    start();
    const auto memory = allocated(4096);
    auto handle = handle_of(memory);
    const CUcontext context = current();
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    CUdeviceptr opened = 0;
    CHECK(d.cuIpcGetMemHandle(&handle, memory) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
          CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(d.cuCtxSetCurrent(context) == good);
    CHECK(d.cuMemFree(memory) == good);
}

TEST_CASE("many allocations can be exported at a time") {
    start();
    std::vector<CUdeviceptr> all;
    std::vector<CUipcMemHandle> handles;
    for (int i = 0; i < 300; ++i) {
        all.push_back(allocated(1 + static_cast<std::size_t>(i)));
        handles.push_back(handle_of(all.back()));
    }
    for (std::size_t i = 1; i < handles.size(); ++i) {
        CHECK_FALSE(same(handles[i - 1], handles[i]));
    }
    for (const CUdeviceptr memory : all) {
        CHECK(d.cuMemFree(memory) == good);
    }
}
