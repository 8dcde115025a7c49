// Virtual memory management in one process: the rules read off a real driver, and hostile use.
#include "sim.hpp"
#include "vmm_tools.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#ifndef _WIN32
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace sim_test;

namespace {

const auto &d = cushim::driver();
constexpr std::size_t G = default_granularity;
constexpr auto invalid = CUDA_ERROR_INVALID_VALUE;
constexpr auto good = CUDA_SUCCESS;

CUresult set_access(CUdeviceptr address, std::size_t size, CUmemAccess_flags flags,
                    int device = 0) {
    const auto access = grant(device, flags);
    return d.cuMemSetAccess(address, size, &access, 1);
}

unsigned long long access_of(CUdeviceptr address, int device = 0) {
    const CUmemLocation where = grant(device).location;
    unsigned long long flags = 99;
    REQUIRE(d.cuMemGetAccess(&flags, &where, address) == good);
    return flags;
}

CUresult try_write(CUdeviceptr address) {
    const std::uint32_t value = 1;
    return d.cuMemcpyHtoD(address, &value, sizeof value);
}

CUresult try_read(CUdeviceptr address) {
    std::uint32_t value = 0;
    return d.cuMemcpyDtoH(&value, address, sizeof value);
}

std::size_t free_memory() {
    std::size_t available = 0, total = 0;
    REQUIRE(d.cuMemGetInfo(&available, &total) == good);
    return available;
}

bool any_line(const std::vector<std::string> &lines, const std::string &text) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string &line) {
        return line.find(text) != std::string::npos;
    });
}

} // namespace

TEST_CASE("nothing of virtual memory management needs a current context", "[vmm]") {
    REQUIRE(d.cuInit(0) == good);
    std::size_t granularity = 0;
    const auto properties = on_device();
    CHECK(d.cuMemGetAllocationGranularity(&granularity, &properties,
                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM) == good);
    CHECK(granularity == G);
    const auto memory = create_memory(G, properties);
    const auto address = reserve(std::size_t(4) << 30);
    map(address, G, memory);
    allow(address, G);
    CHECK(access_of(address) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    unmap(address, G);
    free_reserved(address, std::size_t(4) << 30);
    release_physical(memory);
}

TEST_CASE("before cuInit every call answers NOT_INITIALIZED", "[vmm]") {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemAddressReserve(&address, G, 0, 0, 0) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemMap(G, G, 0, 1, 0) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemRelease(1) == CUDA_ERROR_NOT_INITIALIZED);
}

TEST_CASE("physical memory is created in multiples of the granularity", "[vmm]") {
    start();
    CUmemGenericAllocationHandle handle = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, G + 1, &properties, 0) == invalid);
    CHECK(d.cuMemCreate(&handle, 0, &properties, 0) == invalid);
    CHECK(d.cuMemCreate(&handle, G / 2, &properties, 0) == invalid);
    CHECK(d.cuMemCreate(&handle, std::numeric_limits<std::size_t>::max() / G * G, &properties, 0) ==
          CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemCreate(nullptr, G, &properties, 0) == invalid);
    CHECK(d.cuMemCreate(&handle, G, nullptr, 0) == invalid);
    CHECK(d.cuMemCreate(&handle, G, &properties, 1) == invalid);
    CHECK(d.cuMemCreate(&handle, 3 * G, &properties, 0) == good);
    release_physical(handle);
}

TEST_CASE("a handle that was not made is poisoned, not left alone", "[vmm]") {
    start();
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, 1, &properties, 0) == invalid);
    CHECK(handle == 0xbdbdbdbdbdbdbdbd);
    CHECK(d.cuMemAddressReserve(&address, 1, 0, 0, 0) == invalid);
    CHECK(address == 0xbdbdbdbdbdbdbdbd);
    CHECK(d.cuMemRelease(handle) == invalid);
    expect_misuse("is no handle of a physical memory");
}

TEST_CASE("properties are checked", "[vmm]") {
    start("devices=2");
    CUmemGenericAllocationHandle handle = 0;
    std::size_t granularity = 0;
    auto properties = on_device();
    SECTION("a device that is not there") {
        properties.location.id = 2;
        CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_INVALID_DEVICE);
        properties.location.id = -1;
        CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(d.cuMemGetAllocationGranularity(&granularity, &properties,
                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
              CUDA_ERROR_INVALID_DEVICE);
    }
    SECTION("unknown types") {
        properties.type = CU_MEM_ALLOCATION_TYPE_INVALID;
        CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
        properties.type = static_cast<CUmemAllocationType>(77);
        CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
    }
    SECTION("unknown locations") {
        for (const int type : {0, 4, 77, -1}) {
            properties.location.type = static_cast<CUmemLocationType>(type);
            CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
        }
    }
    SECTION("fabric handles are advertised, yet not permitted") {
        properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(8);
        CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_NOT_PERMITTED);
    }
    SECTION("unknown handle types are ignored") {
        properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(0x40);
        CHECK(d.cuMemCreate(&handle, G, &properties, 0) == good);
        release_physical(handle);
    }
#ifndef _WIN32
    SECTION("handle types of Windows") {
        properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(2);
        CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
        properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
        properties.win32HandleMetaData = &properties;
        CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
    }
#endif
    SECTION("granularity of nothing") {
        CHECK(d.cuMemGetAllocationGranularity(nullptr, &properties,
                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM) == invalid);
        CHECK(d.cuMemGetAllocationGranularity(&granularity, nullptr,
                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM) == invalid);
        CHECK(d.cuMemGetAllocationGranularity(&granularity, &properties,
                                              static_cast<CUmemAllocationGranularity_flags>(2)) ==
              invalid);
        CHECK(d.cuMemGetAllocationGranularity(&granularity, &properties,
                                              CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) == good);
        CHECK(granularity == G);
    }
}

TEST_CASE("a device that has no virtual memory management says so", "[vmm]") {
    start("attribute.102=0");
    CUmemGenericAllocationHandle handle = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("the properties of a handle are those that it was created with", "[vmm]") {
    start("devices=2");
    auto properties = on_device(1);
    properties.allocFlags.gpuDirectRDMACapable = 1;
    const auto memory = create_memory(G, properties);
    CUmemAllocationProp read{};
    CHECK(d.cuMemGetAllocationPropertiesFromHandle(&read, memory) == good);
    CHECK(std::memcmp(&read, &properties, sizeof read) == 0);
    CHECK(d.cuMemGetAllocationPropertiesFromHandle(nullptr, memory) == invalid);
    CHECK(d.cuMemGetAllocationPropertiesFromHandle(&read, 0) == invalid);
    release_physical(memory);
}

TEST_CASE("reservations: sizes, alignments, flags", "[vmm]") {
    start();
    CUdeviceptr address = 0;
    CHECK(d.cuMemAddressReserve(&address, 1, 0, 0, 0) == invalid);
    CHECK(d.cuMemAddressReserve(&address, 0, 0, 0, 0) == invalid);
    CHECK(d.cuMemAddressReserve(&address, G, 3, 0, 0) == invalid);
    CHECK(d.cuMemAddressReserve(&address, G, 0, 0, 1) == invalid);
    CHECK(d.cuMemAddressReserve(&address, G, 0, 1, 0) == invalid); // the hint
    CHECK(d.cuMemAddressReserve(nullptr, G, 0, 0, 0) == invalid);
    const std::size_t most = std::numeric_limits<std::size_t>::max();
    CHECK(d.cuMemAddressReserve(&address, most / G * G, 0, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemAddressReserve(&address, G, most / 2 + 1, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    for (const std::size_t alignment : {std::size_t(0), std::size_t(4096), 4 * G, 64 * G}) {
        const auto reserved = reserve(G, alignment);
        CHECK(reserved % G == 0);
        CHECK((alignment == 0 || reserved % alignment == 0));
        free_reserved(reserved, G);
    }
}

TEST_CASE("a reservation is freed whole, once", "[vmm]") {
    start();
    const auto address = reserve(4 * G);
    CHECK(d.cuMemAddressFree(address, G) == invalid);
    CHECK(d.cuMemAddressFree(address + G, 3 * G) == invalid);
    CHECK(d.cuMemAddressFree(address, 5 * G) == invalid);
    CHECK(d.cuMemAddressFree(address, 0) == invalid);
    CHECK(d.cuMemAddressFree(0, 0) == invalid);
    CHECK(d.cuMemAddressFree(address, 4 * G) == good);
    CHECK(d.cuMemAddressFree(address, 4 * G) == invalid);
    expect_misuse("memory that was freed");
    CUdeviceptr other = 0;
    REQUIRE(d.cuMemAlloc(&other, G) == good);
    CHECK(d.cuMemAddressFree(other, G) == invalid);
    CHECK(d.cuMemFree(other) == good);
}

TEST_CASE("cuMemFree does not take a reservation", "[vmm]") {
    start();
    const auto address = reserve(G);
    CHECK(d.cuMemFree(address) == invalid);
    expect_misuse("cuMemFree of address reservation");
    free_reserved(address, G);
}

TEST_CASE("mapping follows the rules of the real driver", "[vmm]") {
    start();
    const auto memory = create_memory(2 * G, on_device());
    const auto address = reserve(8 * G);

    CHECK(d.cuMemMap(address, G, G, memory, 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuMemMap(address + 4096, 2 * G, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address + 7 * G, 2 * G, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address, G, 0, memory, 0) == CUDA_ERROR_NOT_SUPPORTED);     // a part of it
    CHECK(d.cuMemMap(address, 4 * G, 0, memory, 0) == CUDA_ERROR_NOT_SUPPORTED); // more of it
    CHECK(d.cuMemMap(address, 0, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address, G + 4096, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address, 2 * G, 0, memory, 1) == invalid);
    CHECK(d.cuMemMap(address, 2 * G, 0, 0, 0) == invalid);
    CHECK(d.cuMemMap(0, 2 * G, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address, std::numeric_limits<std::size_t>::max() / G * G, 0, memory, 0) ==
          invalid);

    CHECK(d.cuMemMap(address, 2 * G, 0, memory, 0) == good);
    CHECK(d.cuMemMap(address, 2 * G, 0, memory, 0) == invalid);      // again
    CHECK(d.cuMemMap(address + G, 2 * G, 0, memory, 0) == invalid);  // overlapping its end
    CHECK(d.cuMemMap(address + 2 * G, 2 * G, 0, memory, 0) == good); // an alias
    allow(address, 4 * G);
    write(address + 100, 0x1234);
    CHECK(read(address + 2 * G + 100) == 0x1234);

    CHECK(d.cuMemUnmap(address, G) == invalid); // a half
    CHECK(d.cuMemUnmap(address + G, G) == invalid);
    CHECK(d.cuMemUnmap(address + G, 2 * G) == invalid); // a half of each
    CHECK(d.cuMemUnmap(address + 1, 2 * G) == invalid);
    CHECK(d.cuMemUnmap(address, 9 * G) == invalid);
    CHECK(d.cuMemUnmap(address, 0) == invalid);
    CHECK(d.cuMemUnmap(address, 4 * G) == good); // two mappings in one call
    CHECK(d.cuMemUnmap(address, 4 * G) == good); // again

    release_physical(memory);
    free_reserved(address, 8 * G);
}

TEST_CASE("a mapping that overlaps the beginning of another is refused", "[vmm]") {
    start();
    const auto memory = create_memory(2 * G, on_device());
    const auto address = reserve(8 * G);
    map(address + 2 * G, 2 * G, memory);
    CHECK(d.cuMemMap(address + G, 2 * G, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address + 3 * G, 2 * G, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address, 2 * G, 0, memory, 0) == good);
    CHECK(d.cuMemMap(address + 4 * G, 2 * G, 0, memory, 0) == good);
    unmap(address, 8 * G);
    free_reserved(address, 8 * G);
    release_physical(memory);
}

TEST_CASE("a mapping has no access until it is given", "[vmm]") {
    start();
    const auto memory = create_memory(G, on_device());
    const auto address = reserve(2 * G);
    CHECK(try_write(address) == invalid);
    map(address, G, memory);
    CHECK(access_of(address) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CHECK(try_write(address) == invalid);
    CHECK(try_read(address) == invalid);
    CHECK(d.cuMemsetD8(address, 1, 16) == invalid);
    CHECK(sim_control().view(address, 4) == nullptr);
    // A refused call is no fault of the device: the context works on.
    CHECK(d.cuCtxSynchronize() == good);

    const auto access = grant();
    CHECK(d.cuMemSetAccess(address, G, &access, 0) == invalid);
    CHECK(d.cuMemSetAccess(address, G, nullptr, 1) == invalid);
    CHECK(d.cuMemSetAccess(address, 0, &access, 1) == invalid);
    CHECK(d.cuMemSetAccess(address, 2 * G, &access, 1) == invalid); // not all mapped
    CHECK(d.cuMemSetAccess(address + G, G, &access, 1) == invalid);
    CHECK(d.cuMemSetAccess(address, G / 2, &access, 1) == invalid);
    CHECK(try_write(address) == invalid);
    CHECK(d.cuMemSetAccess(address, G, &access, 1) == good);
    CHECK(try_write(address) == good);
    CHECK(try_write(address + G - 2) == invalid); // over the end of what is mapped
    CHECK(try_write(address + G) == invalid);

    // Unmapping takes the access away.
    unmap(address, G);
    CHECK(try_write(address) == invalid);
    map(address, G, memory);
    CHECK(try_write(address) == invalid);
    unmap(address, G);
    release_physical(memory);
    free_reserved(address, 2 * G);
}

TEST_CASE("access can be read-only, and be taken away again", "[vmm]") {
    start();
    Mapped memory(G);
    write(memory.address, 77);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READ) == good);
    CHECK(access_of(memory.address + 5) == CU_MEM_ACCESS_FLAGS_PROT_READ);
    CHECK(read(memory.address) == 77);
    CHECK(try_write(memory.address) == invalid);
    CHECK(d.cuMemsetD32(memory.address, 1, 1) == invalid);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_NONE) == good);
    CHECK(try_read(memory.address) == invalid);
    CHECK(set_access(memory.address, G, static_cast<CUmemAccess_flags>(2)) == invalid);
    CHECK(set_access(memory.address, G, static_cast<CUmemAccess_flags>(4)) == invalid);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == good);
    CHECK(read(memory.address) == 77);
    CHECK(try_write(memory.address) == good);
}

TEST_CASE("a copy may go over the border of two mappings", "[vmm]") {
    start();
    const auto first = create_memory(G, on_device()), second = create_memory(G, on_device());
    const auto address = reserve(2 * G);
    map(address, G, first);
    map(address + G, G, second);
    allow(address, 2 * G);
    write(address + G - 2, 0xaabbccdd);
    CHECK(read(address + G - 2) == 0xaabbccdd);
    REQUIRE(set_access(address + G, G, CU_MEM_ACCESS_FLAGS_PROT_READ) == good);
    CHECK(try_write(address + G - 2) == invalid);
    CHECK(try_read(address + G - 2) == good);
    unmap(address, 2 * G);
    free_reserved(address, 2 * G);
    release_physical(first);
    release_physical(second);
}

TEST_CASE("each device has its own access", "[vmm]") {
    start("devices=3");
    const auto memory = create_memory(G, on_device(1));
    const auto address = reserve(G);
    map(address, G, memory);
    const CUmemAccessDesc both[] = {grant(0, CU_MEM_ACCESS_FLAGS_PROT_READ), grant(1)};
    REQUIRE(d.cuMemSetAccess(address, G, both, 2) == good);
    CHECK(access_of(address, 0) == CU_MEM_ACCESS_FLAGS_PROT_READ);
    CHECK(access_of(address, 1) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(access_of(address, 2) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    unsigned long long flags = 0;
    CUmemLocation where = grant(3).location;
    CHECK(d.cuMemGetAccess(&flags, &where, address) == invalid);
    where = grant(0).location;
    CHECK(d.cuMemGetAccess(nullptr, &where, address) == invalid);
    CHECK(d.cuMemGetAccess(&flags, nullptr, address) == invalid);
    CHECK(d.cuMemGetAccess(&flags, &where, address + G) == invalid);
    // All or nothing.
    const CUmemAccessDesc partly[] = {grant(2), grant(7)};
    CHECK(d.cuMemSetAccess(address, G, partly, 2) == invalid);
    CHECK(access_of(address, 2) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    unmap(address, G);
    free_reserved(address, G);
    release_physical(memory);
}

TEST_CASE("a device without peer access is given none", "[vmm]") {
    start("devices=2;peers=none");
    const auto memory = create_memory(G, on_device(1));
    const auto address = reserve(G);
    map(address, G, memory);
    CHECK(set_access(address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 0) ==
          CUDA_ERROR_INVALID_DEVICE);
    CHECK(set_access(address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 1) == good);
    unmap(address, G);
    free_reserved(address, G);
    release_physical(memory);
}

TEST_CASE("what a device may not touch makes its work fail", "[vmm]") {
    start("devices=2");
    Mapped memory(G, on_device(0));
    CUcontext other = nullptr;
    REQUIRE(d.cuDevicePrimaryCtxRetain(&other, 1) == good);
    REQUIRE(d.cuCtxPushCurrent(other) == good);
    CHECK(d.cuMemsetD8Async(memory.address, 1, 16, nullptr) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d.cuCtxPopCurrent(&other) == good);
    CHECK(d.cuDevicePrimaryCtxReset(1) == good);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
}

TEST_CASE("an address tells its mapping, as long as somebody has access", "[vmm]") {
    start("devices=2");
    const auto memory = create_memory(G, on_device(1));
    const auto address = reserve(4 * G);
    map(address + 2 * G, G, memory);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CHECK(d.cuMemGetAddressRange(&base, &size, address + 2 * G + 8) == CUDA_ERROR_NOT_FOUND);
    allow(address + 2 * G, G);
    CHECK(d.cuMemGetAddressRange(&base, &size, address + 2 * G + 8) == good);
    CHECK(base == address + 2 * G);
    CHECK(size == G);
    CHECK(d.cuMemGetAddressRange(&base, &size, address) == CUDA_ERROR_NOT_FOUND);
    int ordinal = -1;
    CHECK(d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address + 2 * G) ==
          good);
    CHECK(ordinal == 1);
    unmap(address, 4 * G);
    free_reserved(address, 4 * G);
    release_physical(memory);
}

TEST_CASE("released memory lives as long as it is mapped", "[vmm]") {
    start();
    const auto before = free_memory();
    const auto memory = create_memory(G, on_device());
    CHECK(free_memory() == before - G);
    const auto address = reserve(G);
    map(address, G, memory);
    CHECK(d.cuMemRelease(memory) == good);
    allow(address, G); // still
    write(address, 5);
    CHECK(read(address) == 5);
    CHECK(d.cuMemAddressFree(address, G) == invalid); // mapped
    CHECK(free_memory() == before - G);

    CUmemGenericAllocationHandle retained = 0;
    CHECK(d.cuMemRetainAllocationHandle(
              &retained, reinterpret_cast<void *>(static_cast<std::uintptr_t>(address + 12345))) ==
          good);
    CHECK(retained == memory); // the same value
    CHECK(d.cuMemUnmap(address, G) == good);
    CHECK(free_memory() == before - G);
    CHECK(d.cuMemRelease(retained) == good);
    CHECK(free_memory() == before);
    CHECK(d.cuMemRelease(retained) == invalid);
    expect_misuse("use of a destroyed physical memory");
    free_reserved(address, G);
}

TEST_CASE("the last unmap frees released memory", "[vmm]") {
    start();
    const auto before = free_memory();
    const auto memory = create_memory(G, on_device());
    const auto address = reserve(2 * G);
    map(address, G, memory);
    map(address + G, G, memory);
    release_physical(memory);
    CHECK(d.cuMemRelease(memory) == invalid);
    expect_misuse("use of a released physical memory");
    CHECK(d.cuMemMap(address, G, 0, memory, 0) == invalid);
    expect_misuse("use of a released physical memory");
    unmap(address, G);
    CHECK(free_memory() == before - G);
    unmap(address + G, G);
    CHECK(free_memory() == before);
    free_reserved(address, 2 * G);
}

TEST_CASE("every retain needs a release", "[vmm]") {
    start();
    const auto memory = create_memory(G, on_device());
    const auto address = reserve(G);
    void *pointer = reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
    CUmemGenericAllocationHandle handle = 0;
    CHECK(d.cuMemRetainAllocationHandle(&handle, pointer) == invalid); // nothing there
    CHECK(d.cuMemRetainAllocationHandle(&handle, nullptr) == invalid);
    map(address, G, memory);
    CHECK(d.cuMemRetainAllocationHandle(nullptr, pointer) == invalid);
    CHECK(d.cuMemRetainAllocationHandle(&handle, pointer) == good);
    CHECK(d.cuMemRetainAllocationHandle(&handle, pointer) == good);
    unmap(address, G);
    CHECK(leaks().size() == 2); // the memory and the reservation
    for (int i = 0; i != 3; ++i) {
        release_physical(memory);
    }
    free_reserved(address, G);
}

TEST_CASE("handles of other things are refused", "[vmm]") {
    start();
    CUstream stream = nullptr;
    REQUIRE(d.cuStreamCreate(&stream, 0) == good);
    const auto as_handle =
        static_cast<CUmemGenericAllocationHandle>(reinterpret_cast<std::uintptr_t>(stream));
    CHECK(d.cuMemRelease(as_handle) == invalid);
    expect_misuse("a physical memory was expected, this is stream");
    CHECK(d.cuMemRelease(0) == invalid);
    CHECK(d.cuMemRelease(12345) == invalid);
    expect_misuse("is no handle of a physical memory");
    REQUIRE(d.cuStreamDestroy(stream) == good);
}

TEST_CASE("physical memory counts against the device's budget", "[vmm]") {
    start("devices=2;budget=8MiB");
    const auto half = create_memory(2 * G, on_device());
    CUmemGenericAllocationHandle handle = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, 3 * G, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    const auto rest = create_memory(2 * G, properties);
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    const auto elsewhere = create_memory(4 * G, on_device(1)); // another device has its own
    release_physical(half);
    release_physical(rest);
    const auto all = create_memory(4 * G, properties);
    release_physical(all);
    release_physical(elsewhere);
    // Reservations cost nothing.
    const auto address = reserve(std::size_t(64) << 30);
    free_reserved(address, std::size_t(64) << 30);
}

TEST_CASE("any granularity works, powers of two or not", "[vmm]") {
    const auto [setting, bytes] =
        GENERATE(table<std::string, std::size_t>({{"64KiB", std::size_t(64) << 10},
                                                  {"3MiB", std::size_t(3) << 20},
                                                  {"5MiB", std::size_t(5) << 20}}));
    start("granularity=" + setting);
    std::size_t granularity = 0;
    const auto properties = on_device();
    REQUIRE(d.cuMemGetAllocationGranularity(&granularity, &properties,
                                            CU_MEM_ALLOC_GRANULARITY_MINIMUM) == good);
    REQUIRE(granularity == bytes);
    CUmemGenericAllocationHandle handle = 0;
    CHECK(d.cuMemCreate(&handle, bytes + 4096, &properties, 0) == invalid);
    const auto first = create_memory(bytes, properties),
               second = create_memory(2 * bytes, properties);
    const auto address = reserve(4 * bytes, std::size_t(1) << 21);
    CHECK(address % bytes == 0);
    CHECK(address % (std::size_t(1) << 21) == 0);
    CHECK(d.cuMemMap(address + 65536 / 2, bytes, 0, first, 0) == invalid);
    map(address, bytes, first);
    map(address + bytes, 2 * bytes, second);
    allow(address, 3 * bytes);
    write(address + bytes - 2, 0x11223344);
    CHECK(read(address + bytes - 2) == 0x11223344);
    write(address + 3 * bytes - 4, 9);
    CHECK(read(address + 3 * bytes - 4) == 9);
    CHECK(try_write(address + 3 * bytes - 2) == invalid);
    CHECK(d.cuMemUnmap(address + bytes, bytes) == invalid);
    unmap(address, 3 * bytes);
    free_reserved(address, 4 * bytes);
    release_physical(first);
    release_physical(second);
}

TEST_CASE("a buffer grows in place", "[vmm]") {
    start();
    const auto address = reserve(64 * G);
    std::vector<CUmemGenericAllocationHandle> parts;
    for (std::uint32_t i = 0; i != 16; ++i) {
        parts.push_back(create_memory(G, on_device()));
        map(address + i * G, G, parts.back());
        allow(address + i * G, G);
        write(address + i * G, i);
        for (std::uint32_t j = 0; j <= i; ++j) {
            CHECK(read(address + j * G) == j);
        }
    }
    unmap(address, 64 * G); // what is mapped of it
    for (const auto part : parts) {
        release_physical(part);
    }
    free_reserved(address, 64 * G);
}

TEST_CASE("many mappings need few descriptors", "[vmm]") {
    start();
    const auto address = reserve(3000 * std::size_t(65536));
    configure("granularity=64KiB");
    const std::size_t step = 65536;
    for (std::size_t i = 0; i != 1500; ++i) {
        const auto memory = create_memory(step, on_device());
        map(address + i * step, step, memory);
        release_physical(memory);
    }
    allow(address, 1500 * step);
    write(address + 1499 * step, 3);
    CHECK(read(address + 1499 * step) == 3);
    unmap(address, 3000 * step);
    free_reserved(address, 3000 * step);
}

TEST_CASE("what is left over is reported: memory, mappings, reservations", "[vmm]") {
    start();
    const auto memory = create_memory(G, on_device());
    const auto address = reserve(2 * G);
    map(address, G, memory);
    auto lines = leaks();
    CHECK(lines.size() == 3);
    CHECK(any_line(lines, "physical memory"));
    CHECK(any_line(lines, "made by cuMemCreate"));
    CHECK(any_line(lines, "memory mapping"));
    CHECK(any_line(lines, "made by cuMemMap"));
    CHECK(any_line(lines, "address reservation"));
    CHECK(any_line(lines, "made by cuMemAddressReserve"));
    unmap(address, G);
    free_reserved(address, 2 * G);
    release_physical(memory);
    CHECK(leaks().empty());
}

TEST_CASE("a reset forgets all of it", "[vmm]") {
    start();
    const auto memory = create_memory(G, on_device());
    const auto address = reserve(2 * G);
    map(address, G, memory);
    allow(address, G);
    release_physical(memory);
    start();
    CHECK(leaks().empty());
    CHECK(try_write(address) == invalid);
    CHECK(d.cuMemAddressFree(address, 2 * G) == invalid);
}

#ifndef _WIN32
namespace {

// The signal that a child of fork ends with when it does this to memory; 0 where it may.
template <class Action>
int signal_of(Action action) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGSEGV, SIG_DFL);
        std::signal(SIGBUS, SIG_DFL);
        action();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

void touch(CUdeviceptr address) {
    *reinterpret_cast<volatile char *>(static_cast<std::uintptr_t>(address)) = 1;
}

} // namespace

TEST_CASE("the host cannot touch mapped device memory", "[vmm]") {
    start();
    Mapped memory(G);
    CHECK(signal_of([&] { touch(memory.address); }) != 0);
    void *view = sim_control().view(memory.address, G);
    REQUIRE(view != nullptr);
    CHECK(signal_of([&] { *static_cast<volatile char *>(view) = 1; }) == 0);
}

TEST_CASE("the simulator's own view is protected as the access says", "[vmm]") {
    start();
    Mapped memory(G);
    auto *view = static_cast<volatile char *>(sim_control().view(memory.address, G));
    REQUIRE(view != nullptr);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READ) == good);
    CHECK(signal_of([&] { static_cast<void>(*view); }) == 0);
    CHECK(signal_of([&] { *view = 1; }) != 0);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_NONE) == good);
    CHECK(signal_of([&] { static_cast<void>(*view); }) != 0);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == good);
    CHECK(signal_of([&] { *view = 1; }) == 0);
    unmap(memory.address, G);
    CHECK(signal_of([&] { static_cast<void>(*view); }) != 0);
}

TEST_CASE("memory of the host can be mapped for both", "[vmm]") {
    start();
    auto properties = on_device();
    properties.location.type = static_cast<CUmemLocationType>(GENERATE(2, 3)); // HOST, HOST_NUMA
    properties.location.id = 0;
    const auto before = free_memory();
    Mapped memory(G, properties);
    CHECK(free_memory() == before); // none of the device's
    CHECK(signal_of([&] { touch(memory.address); }) != 0);
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REQUIRE(d.cuMemSetAccess(memory.address, G, &access, 1) == good);
    auto *host = reinterpret_cast<std::uint32_t *>(static_cast<std::uintptr_t>(memory.address));
    host[3] = 0xfeed;
    CHECK(read(memory.address + 12) == 0xfeed);
    write(memory.address + 16, 0xbeef);
    CHECK(host[4] == 0xbeef);
    unsigned long long flags = 0;
    CHECK(d.cuMemGetAccess(&flags, &access.location, memory.address) == good);
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    REQUIRE(d.cuMemSetAccess(memory.address, G, &access, 1) == good);
    CHECK(signal_of([&] { touch(memory.address); }) != 0);
    CHECK(host[4] == 0xbeef);
    unmap(memory.address, G);
    CHECK(signal_of([&] { touch(memory.address); }) != 0);
}
#endif

TEST_CASE("memory of the host: what is refused", "[vmm]") {
    start();
    CUmemGenericAllocationHandle handle = 0;
    auto properties = on_device();
    properties.location.type = static_cast<CUmemLocationType>(2);
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
    properties = on_device();
    properties.location.type = static_cast<CUmemLocationType>(3);
    properties.location.id = 1; // a node that is not there
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
    Mapped memory(G);
    CUmemAccessDesc access = grant();
    access.location.type = static_cast<CUmemLocationType>(2);
    CHECK(d.cuMemSetAccess(memory.address, G, &access, 1) == invalid);
    access.location.type = static_cast<CUmemLocationType>(9);
    CHECK(d.cuMemSetAccess(memory.address, G, &access, 1) == invalid);
}

TEST_CASE("an unmap waits for queued work, or the work fails", "[vmm]") {
    const std::string mode = GENERATE(from_range(all_modes()));
    start(mode);
    const auto memory = create_memory(G, on_device());
    const auto address = reserve(2 * G);
    map(address, G, memory);
    map(address + G, G, memory);
    allow(address, 2 * G);
    CUstream stream = nullptr;
    REQUIRE(d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == good);
    REQUIRE(d.cuMemsetD32Async(address, 7, G / 4, stream) == good);
    if (mode.find("adversarial") == std::string::npos) {
        unmap(address, G);
        CHECK(d.cuStreamSynchronize(stream) == good);
        CHECK(read(address + G) == 7); // the alias shows that it ran before
    } else {
        unmap(address + G, G); // of which nothing is queued
        unmap(address, G);
        expect_misuse("is unmapped while 1 queued operations need it");
        CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(d.cuStreamDestroy(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(d.cuDevicePrimaryCtxReset(0) == good);
        stream = nullptr;
    }
    unmap(address, 2 * G);
    free_reserved(address, 2 * G);
    release_physical(memory);
    if (stream != nullptr) {
        CHECK(d.cuStreamDestroy(stream) == good);
    }
}

TEST_CASE("asynchronous work on mapped memory gives its results in every mode", "[vmm]") {
    start(GENERATE(from_range(all_modes())));
    Mapped first(G), second(G);
    CUstream stream = nullptr;
    REQUIRE(d.cuStreamCreate(&stream, 0) == good);
    CHECK(d.cuMemsetD32Async(first.address, 0x9e3779b1, G / 4, stream) == good);
    CHECK(d.cuMemcpyDtoDAsync(second.address, first.address, G, stream) == good);
    std::vector<std::uint32_t> host(G / 4);
    CHECK(d.cuMemcpyDtoHAsync(host.data(), second.address, G, stream) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(std::all_of(host.begin(), host.end(), [](auto v) { return v == 0x9e3779b1; }));
    CHECK(d.cuStreamDestroy(stream) == good);
}

TEST_CASE("threads map and unmap at the same time", "[vmm]") {
    start("mode=threaded");
    const auto address = reserve(8 * G);
    std::vector<std::thread> threads;
    std::vector<int> failures(4, 0);
    for (std::size_t t = 0; t != 4; ++t) {
        threads.emplace_back([&, t] {
            const auto properties = on_device();
            const auto access = grant();
            const CUdeviceptr own = address + 2 * t * G;
            for (int i = 0; i != 50; ++i) {
                CUmemGenericAllocationHandle memory = 0;
                failures[t] += d.cuMemCreate(&memory, G, &properties, 0) != good;
                failures[t] += d.cuMemMap(own, G, 0, memory, 0) != good;
                failures[t] += d.cuMemRelease(memory) != good;
                failures[t] += d.cuMemSetAccess(own, G, &access, 1) != good;
                failures[t] += d.cuMemUnmap(own, G) != good;
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    CHECK(failures == std::vector<int>(4, 0));
    free_reserved(address, 8 * G);
}
