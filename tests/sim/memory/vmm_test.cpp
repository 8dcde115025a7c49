// Virtual memory management in one process: physical memory, reservations, and what is mapped
// where, by the rules read off a real driver, and in hostile use.
#include "memory_tools.hpp"
#include "vmm_tools.hpp"

#include <cstring>
#include <limits>

using namespace sim_test;

namespace {
constexpr std::size_t G = default_granularity;

} // namespace

TEST_CASE("nothing of virtual memory management needs a current context") {
    REQUIRE(d.cuInit(0) == good);
    const auto properties = on_device();
    CHECK(got<std::size_t>(&Driver::cuMemGetAllocationGranularity, out, &properties,
                           CU_MEM_ALLOC_GRANULARITY_MINIMUM) == G);
    const PhysicalMemory memory(G, properties);
    const auto address = reserve(std::size_t(4) << 30);
    map(address, G, memory);
    allow(address, G);
    CHECK(access_of(address) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    unmap(address, G);
    free_reserved(address, std::size_t(4) << 30);
}

TEST_CASE("before cuInit every call answers NOT_INITIALIZED") {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemAddressReserve(&address, G, 0, 0, 0) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemMap(G, G, 0, 1, 0) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemRelease(1) == CUDA_ERROR_NOT_INITIALIZED);
}

TEST_CASE("physical memory is created in multiples of the granularity") {
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

TEST_CASE("a handle that was not made is poisoned, not left alone") {
    start();
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, 1, &properties, 0) == invalid);
    CHECK(handle == 0xbdbdbdbdbdbdbdbd);
    CHECK(d.cuMemAddressReserve(&address, 1, 0, 0, 0) == invalid);
    CHECK(address == 0xbdbdbdbdbdbdbdbd);
    CHECK(d.cuMemRelease(handle) == invalid);
    expect_misuse("is not a physical memory handle");
}

TEST_CASE("properties are checked") {
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

TEST_CASE("a device that has no virtual memory management says so") {
    start("attribute.102=0");
    CUmemGenericAllocationHandle handle = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("the properties of a handle are those that it was created with") {
    start("devices=2");
    auto properties = on_device(1);
    properties.allocFlags.gpuDirectRDMACapable = 1;
    const PhysicalMemory memory(G, properties);
    CUmemAllocationProp read{};
    CHECK(d.cuMemGetAllocationPropertiesFromHandle(&read, memory) == good);
    CHECK(std::memcmp(&read, &properties, sizeof read) == 0);
    CHECK(d.cuMemGetAllocationPropertiesFromHandle(nullptr, memory) == invalid);
    CHECK(d.cuMemGetAllocationPropertiesFromHandle(&read, 0) == invalid);
}

TEST_CASE("reservations: sizes, alignments, flags") {
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

TEST_CASE("a reservation is freed whole, once") {
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
    const DeviceMemory other(G);
    CHECK(d.cuMemAddressFree(other, G) == invalid);
}

TEST_CASE("cuMemFree does not take a reservation") {
    start();
    const auto address = reserve(G);
    CHECK(d.cuMemFree(address) == invalid);
    expect_misuse("cuMemFree of address reservation");
    free_reserved(address, G);
}

TEST_CASE("mapping follows the rules of the real driver") {
    start();
    const PhysicalMemory memory(2 * G, on_device());
    const auto address = reserve(8 * G);

    CHECK(d.cuMemMap(address, G, G, memory, 0) == CUDA_ERROR_NOT_SUPPORTED);
    // The offset is looked at before the size.
    CHECK(d.cuMemMap(address, G / 2, G / 2, memory, 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuMemMap(address, G / 2, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address + 4096, 2 * G, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address + 8 * G, 2 * G, 0, memory, 0) == invalid);          // behind the end
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

    free_reserved(address, 8 * G);
}

TEST_CASE("a mapping may reach past the end of its reservation, where nobody can use it") {
    start();
    const PhysicalMemory memory(2 * G, on_device());
    const auto address = reserve(8 * G);
    map(address + 7 * G, 2 * G, memory);
    expect_misuse("lie past the end of address reservation");
    map(address, 2 * G, memory);
    map(address + 4 * G, 2 * G, memory);
    CHECK(d.cuMemUnmap(address, 8 * G) == invalid); // which would cut it
    CHECK(d.cuMemUnmap(address, 4 * G) == good);
    CHECK(d.cuMemUnmap(address, 8 * G) == invalid);
    CHECK(d.cuMemUnmap(address, 6 * G) == good);
    CHECK(d.cuMemAddressFree(address, 4 * G) == invalid);
    CHECK(d.cuMemAddressFree(address, 8 * G) == invalid); // it is mapped still
    CHECK(set_access(address + 7 * G, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == invalid);
    allow(address + 7 * G, 2 * G);
    write(address + 8 * G - 4, 0x1234);
    CHECK(read(address + 8 * G - 4) == 0x1234);
    CHECK(try_write(address + 8 * G - 2) == invalid);
    CHECK(try_write(address + 8 * G) == invalid);
    CHECK(d.cuMemUnmap(address + 7 * G, 3 * G) == invalid);
    unmap(address + 7 * G, 2 * G);
    CHECK(d.cuMemUnmap(address + 7 * G, 2 * G) == invalid); // nothing reaches so far any more
    free_reserved(address, 8 * G);
}

TEST_CASE("a mapping that overlaps the beginning of another is refused") {
    start();
    const PhysicalMemory memory(2 * G, on_device());
    const auto address = reserve(8 * G);
    map(address + 2 * G, 2 * G, memory);
    CHECK(d.cuMemMap(address + G, 2 * G, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address + 3 * G, 2 * G, 0, memory, 0) == invalid);
    CHECK(d.cuMemMap(address, 2 * G, 0, memory, 0) == good);
    CHECK(d.cuMemMap(address + 4 * G, 2 * G, 0, memory, 0) == good);
    unmap(address, 8 * G);
    free_reserved(address, 8 * G);
}
