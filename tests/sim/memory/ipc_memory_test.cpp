// IPC memory as one process sees it; two_processes_test.cpp has the rest.
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

using namespace sim_test;

namespace {

CUipcMemHandle handle_of(CUdeviceptr address) {
    CUipcMemHandle handle;
    REQUIRE(cushim::driver().cuIpcGetMemHandle(&handle, address) == CUDA_SUCCESS);
    return handle;
}

CUdeviceptr allocated(std::size_t size) {
    CUdeviceptr address = 0;
    REQUIRE(cushim::driver().cuMemAlloc(&address, size) == CUDA_SUCCESS);
    return address;
}

bool same(const CUipcMemHandle &a, const CUipcMemHandle &b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

} // namespace

TEST_CASE("device memory exports, from any of its addresses, as often as one likes", "[ipc]") {
    start();
    const auto memory = allocated(4096);
    const auto other = allocated(4096);
    const auto first = handle_of(memory);
    CHECK(same(first, handle_of(memory)));
    CHECK(same(first, handle_of(memory + 100)));
    CHECK_FALSE(same(first, handle_of(other)));
    CHECK(cushim::driver().cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(cushim::driver().cuMemFree(other) == CUDA_SUCCESS);
}

TEST_CASE("a new allocation has another handle than the one before it", "[ipc]") {
    start();
    const auto before = allocated(4096);
    const auto first = handle_of(before);
    CHECK(cushim::driver().cuMemFree(before) == CUDA_SUCCESS);
    const auto after = allocated(4096);
    CHECK_FALSE(same(first, handle_of(after)));
    CHECK(cushim::driver().cuMemFree(after) == CUDA_SUCCESS);
}

TEST_CASE("only memory of cuMemAlloc exports", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    CUipcMemHandle handle;
    CUdeviceptr address = 0;

    SECTION("pool memory") {
        REQUIRE(d.cuMemAllocAsync(&address, 4096, nullptr) == CUDA_SUCCESS);
        CHECK(d.cuIpcGetMemHandle(&handle, address) == CUDA_ERROR_INVALID_VALUE);
        CHECK(d.cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
        CHECK(d.cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
    }
    SECTION("managed memory") {
        REQUIRE(d.cuMemAllocManaged(&address, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
        CHECK(d.cuIpcGetMemHandle(&handle, address) == CUDA_ERROR_INVALID_VALUE);
        CHECK(d.cuMemFree(address) == CUDA_SUCCESS);
    }
    SECTION("pinned host memory") {
        void *host = nullptr;
        REQUIRE(d.cuMemHostAlloc(&host, 4096, 0) == CUDA_SUCCESS);
        CHECK(d.cuIpcGetMemHandle(
                  &handle, static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(host))) ==
              CUDA_ERROR_INVALID_VALUE);
        CHECK(d.cuMemFreeHost(host) == CUDA_SUCCESS);
    }
    SECTION("no memory") {
        CHECK(d.cuIpcGetMemHandle(&handle, 0) == CUDA_ERROR_INVALID_VALUE);
        CHECK(d.cuIpcGetMemHandle(&handle, 0xdead0000) == CUDA_ERROR_INVALID_VALUE);
    }
    SECTION("freed memory") {
        address = allocated(4096);
        REQUIRE(d.cuMemFree(address) == CUDA_SUCCESS);
        CHECK(d.cuIpcGetMemHandle(&handle, address) == CUDA_ERROR_INVALID_VALUE);
        expect_misuse("cuIpcGetMemHandle");
    }
    SECTION("nowhere to write to") {
        address = allocated(4096);
        CHECK(d.cuIpcGetMemHandle(nullptr, address) == CUDA_ERROR_INVALID_VALUE);
        CHECK(d.cuMemFree(address) == CUDA_SUCCESS);
    }
}

TEST_CASE("the attribute says which memory exports", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    const auto capable = [&](CUdeviceptr address) {
        int answer = -1;
        REQUIRE(d.cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                        address) == CUDA_SUCCESS);
        return answer;
    };
    const auto memory = allocated(4096);
    CHECK(capable(memory) == 1);
    CHECK(capable(memory + 100) == 1);
    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
    CUdeviceptr pool = 0, managed = 0;
    REQUIRE(d.cuMemAllocAsync(&pool, 4096, nullptr) == CUDA_SUCCESS);
    CHECK(capable(pool) == 0);
    CHECK(d.cuMemFreeAsync(pool, nullptr) == CUDA_SUCCESS);
    CHECK(d.cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
    REQUIRE(d.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    CHECK(capable(managed) == 0);
    CHECK(d.cuMemFree(managed) == CUDA_SUCCESS);
}

TEST_CASE("the exporter cannot open its own handle", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    const auto memory = allocated(4096);
    const auto handle = handle_of(memory);
    CUdeviceptr opened = 0;
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
          CUDA_ERROR_INVALID_CONTEXT);
    CHECK(opened != memory);
    CHECK(d.cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("cuIpcCloseMemHandle of what cuIpcOpenMemHandle did not return");
    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
}

TEST_CASE("handles that no exporter wrote are refused", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    constexpr unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    CUipcMemHandle handle{};
    CUdeviceptr opened = 1;
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == CUDA_ERROR_INVALID_VALUE);
    CHECK(opened != 0); // written with what nobody can take for an address
    CHECK(opened != 1);
    std::memset(&handle, 0xff, sizeof handle);
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == CUDA_ERROR_INVALID_VALUE);

    // Each byte of a good one spoilt. None may crash, and none may open anything.
    const auto memory = allocated(100);
    const auto good = handle_of(memory);
    for (std::size_t i = 0; i < sizeof good; ++i) {
        for (const unsigned char bits : {0x01, 0x80, 0xff}) {
            handle = good;
            handle.reserved[i] = static_cast<char>(handle.reserved[i] ^ static_cast<char>(bits));
            INFO("byte " << i << ", bits " << int(bits));
            CHECK(d.cuIpcOpenMemHandle(&opened, handle, lazy) == CUDA_ERROR_INVALID_VALUE);
        }
    }
    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
}

TEST_CASE("arguments of open and close are checked", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    const auto memory = allocated(4096);
    const auto handle = handle_of(memory);
    CUdeviceptr opened = 0;
    CHECK(d.cuIpcOpenMemHandle(nullptr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
          CUDA_ERROR_INVALID_VALUE);
    for (const unsigned int flags : {0U, 2U, 3U, 0x80000001U, ~0U}) {
        CHECK(d.cuIpcOpenMemHandle(&opened, handle, flags) == CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(d.cuIpcCloseMemHandle(0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuIpcCloseMemHandle(0x1234) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(d.cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("cuIpcCloseMemHandle");
}

TEST_CASE("IPC memory needs a current context", "[ipc]") {
    start();
    const auto &d = cushim::driver();
    const auto memory = allocated(4096);
    auto handle = handle_of(memory);
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    CUdeviceptr opened = 0;
    CHECK(d.cuIpcGetMemHandle(&handle, memory) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
          CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
}

TEST_CASE("many allocations can be exported at a time", "[ipc]") {
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
        CHECK(cushim::driver().cuMemFree(memory) == CUDA_SUCCESS);
    }
}
