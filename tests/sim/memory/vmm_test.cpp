// Virtual memory management in one process: physical memory, reservations and mappings, by the
// measured rules of a real driver, and misuse.
#include "vmm_ranges.hpp"

using namespace sim_test;

namespace {

constexpr auto not_supported = CUDA_ERROR_NOT_SUPPORTED;
constexpr std::size_t most = ~std::size_t(0) / G * G; // a multiple of the granularity

} // namespace

TEST_CASE("virtual memory management needs cuInit, but no current context", "[fresh]") {
    CUdeviceptr address = 0;
    CHECK(try_create(G) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemAddressReserve(&address, G, 0, 0, 0) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemMap(G, G, 0, 1, 0) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuMemRelease(1) == CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(d.cuInit(0) == good);
    const auto properties = on_device();
    CHECK(got<std::size_t>(&Driver::cuMemGetAllocationGranularity, out, &properties,
                           CU_MEM_ALLOC_GRANULARITY_MINIMUM) == G);
    const PhysicalMemory memory(G, properties);
    const Reservation reserved(4 * GiB);
    map(reserved, G, memory);
    allow(reserved, G);
    CHECK(access_of(reserved) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

TEST_CASE("physical memory is created in multiples of the granularity") {
    CUmemGenericAllocationHandle handle = 0;
    const auto properties = on_device();
    const Calls create(&Driver::cuMemCreate);
    create[invalid] = {{&handle, G + 1, &properties, 0}, {&handle, 0, &properties, 0},
                       {&handle, G / 2, &properties, 0}, {nullptr, G, &properties, 0},
                       {&handle, G, nullptr, 0},         {&handle, G, &properties, 1}};
    CHECK(handle == 0xbdbdbdbdbdbdbdbd); // poisoned
    CHECK(reported(d.cuMemRelease(handle), "is not a physical memory handle") == invalid);
    CHECK(try_create(most) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(try_create(3 * G) == good);
}

TEST_CASE("properties of physical memory are checked") {
    start("attribute.102=0");
    CHECK(try_create(G) == not_supported);
    start("devices=2");
    for (const int ordinal : {2, -1}) {
        CHECK(try_create(G, on_device(ordinal)) == CUDA_ERROR_INVALID_DEVICE);
    }
    auto properties = on_device();
    for (const int type : {0, 77}) {
        properties.type = static_cast<CUmemAllocationType>(type);
        CHECK(try_create(G, properties) == invalid);
    }
    properties = on_device();
    for (const int type : {0, 4, 77, -1}) {
        properties.location.type = static_cast<CUmemLocationType>(type);
        CHECK(try_create(G, properties) == invalid);
    }
    CHECK(try_create(G, on_device(0, 8)) ==
          CUDA_ERROR_NOT_PERMITTED); // fabric handles, although the device reports them
    CHECK(try_create(G, on_device(0, 0x40)) == good); // unknown handle types are ignored
#ifndef _WIN32
    CHECK(try_create(G, on_device(0, 2)) == invalid); // Windows handles
    properties = on_device();
    properties.win32HandleMetaData = &properties;
    CHECK(try_create(G, properties) == invalid);
#endif
}

TEST_CASE("the allocation granularity is a property of the device") {
    start("devices=2");
    const auto valid = on_device(), elsewhere = on_device(-1);
    constexpr auto minimum = CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    std::size_t granularity = 0;
    const auto get = [&](std::size_t *size, const CUmemAllocationProp *properties, int flags) {
        return d.cuMemGetAllocationGranularity(
            size, properties, static_cast<CUmemAllocationGranularity_flags>(flags));
    };
    CHECK(get(&granularity, &elsewhere, minimum) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(get(nullptr, &valid, minimum) == invalid);
    CHECK(get(&granularity, nullptr, minimum) == invalid);
    CHECK(get(&granularity, &valid, 2) == invalid);
    CHECK(get(&granularity, &valid, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) == good);
    CHECK(granularity == G);
}

TEST_CASE("a handle reports the properties it was created with") {
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

TEST_CASE("arguments of reservations are checked") {
    CUdeviceptr address = 0;
    const Calls reserved(&Driver::cuMemAddressReserve);
    reserved[invalid] = {{&address, 1, 0, 0, 0},
                         {&address, 0, 0, 0, 0},
                         {&address, G, 3, 0, 0},
                         {&address, G, 0, 0, 1},
                         {&address, G, 0, 1, 0} /* the address hint */,
                         {nullptr, G, 0, 0, 0}};
    CHECK(address == 0xbdbdbdbdbdbdbdbd);
    reserved[CUDA_ERROR_OUT_OF_MEMORY] = {{&address, most, 0, 0, 0},
                                          {&address, G, ~std::size_t(0) / 2 + 1, 0, 0}};
    for (const std::size_t alignment : {std::size_t(0), std::size_t(4096), 4 * G, 64 * G}) {
        const Reservation aligned(G, alignment);
        CHECK(aligned % G == 0);
        CHECK((alignment == 0 || aligned % alignment == 0));
    }
}

TEST_CASE("a reservation is freed as a whole, once, and not by cuMemFree") {
    const auto address = reserve(4 * G);
    const DeviceMemory other(G);
    const Calls freed(&Driver::cuMemAddressFree);
    freed[invalid] = {{address, G}, {address + G, 3 * G}, {address, 5 * G}, {address, 0}, {0, 0},
                      {other, G}};
    CHECK(reported(d.cuMemFree(address), "cuMemFree of address reservation") == invalid);
    CHECK(d.cuMemAddressFree(address, 4 * G) == good);
    CHECK(reported(d.cuMemAddressFree(address, 4 * G), "memory that was freed") == invalid);
}

TEST_CASE("arguments of mapping and unmapping are checked") {
    const PhysicalMemory memory(2 * G, on_device());
    const Reservation address(8 * G);
    const Calls mapped(&Driver::cuMemMap);
    // The whole memory must be mapped; the offset is checked before the size.
    mapped[not_supported] = {{address, G, G, memory, 0},
                             {address, G / 2, G / 2, memory, 0},
                             {address, G, 0, memory, 0},
                             {address, 4 * G, 0, memory, 0}};
    mapped[invalid] = {{address, G / 2, 0, memory, 0},
                       {address + 4096, 2 * G, 0, memory, 0},
                       {address + 8 * G, 2 * G, 0, memory, 0}, // past the end
                       {address, 0, 0, memory, 0},
                       {address, G + 4096, 0, memory, 0},
                       {address, 2 * G, 0, memory, 1},
                       {address, 2 * G, 0, 0, 0},
                       {0, 2 * G, 0, memory, 0},
                       {address, most, 0, memory, 0}};

    CHECK(d.cuMemMap(address + 4 * G, 2 * G, 0, memory, 0) == good);
    // The same range, and ranges that overlap its end or its beginning.
    mapped[invalid] = {{address + 4 * G, 2 * G, 0, memory, 0},
                       {address + 5 * G, 2 * G, 0, memory, 0},
                       {address + 3 * G, 2 * G, 0, memory, 0}};
    for (const std::size_t at : {0 * G, 2 * G, 6 * G}) { // aliases beside it
        map(address + at, 2 * G, memory);
    }
    unmap(address + 4 * G, 4 * G);
    allow(address, 4 * G);
    write(address + 100, 0x1234);
    CHECK(read(address + 2 * G + 100) == 0x1234);

    const Calls unmapped(&Driver::cuMemUnmap);
    // Part of a mapping cannot be unmapped.
    unmapped[invalid] = {{address, G},         {address + G, G}, {address + G, 2 * G},
                         {address + 1, 2 * G}, {address, 9 * G}, {address, 0}};
    unmapped[good] = {{address, 4 * G}, {address, 4 * G}}; // two mappings in one call; then none
}

TEST_CASE("a mapping past the end of its reservation is a misuse and is unusable there") {
    const PhysicalMemory memory(2 * G, on_device());
    const Reservation address(8 * G);
    map(address + 7 * G, 2 * G, memory);
    expect_misuse("lie past the end of address reservation");
    map(address, 2 * G, memory);
    map(address + 4 * G, 2 * G, memory);
    CHECK(d.cuMemUnmap(address, 8 * G) == invalid); // would split the mapping
    CHECK(d.cuMemUnmap(address, 4 * G) == good);
    CHECK(d.cuMemUnmap(address, 8 * G) == invalid);
    CHECK(d.cuMemUnmap(address, 6 * G) == good);
    CHECK(d.cuMemAddressFree(address, 4 * G) == invalid);
    CHECK(d.cuMemAddressFree(address, 8 * G) == invalid); // still mapped
    CHECK(set_access(address + 7 * G, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == invalid);
    allow(address + 7 * G, 2 * G);
    write(address + 8 * G - 4, 0x1234);
    CHECK(read(address + 8 * G - 4) == 0x1234);
    CHECK(try_write(address + 8 * G - 2) == invalid);
    CHECK(try_write(address + 8 * G) == invalid);
    CHECK(d.cuMemUnmap(address + 7 * G, 3 * G) == invalid);
    unmap(address + 7 * G, 2 * G);
    CHECK(d.cuMemUnmap(address + 7 * G, 2 * G) == invalid); // no longer in a reservation
}
