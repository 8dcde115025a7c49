// Virtual memory management in one process: physical memory, reservations and mappings, by the
// measured rules of a real driver, and misuse.
#include "vmm_ranges.hpp"

using namespace sim_test;

namespace {

constexpr std::size_t most = ~std::size_t(0) / G * G; // a multiple of the granularity

} // namespace

TEST_CASE("virtual memory management needs cuInit, but no current context", "[fresh]") {
    CUdeviceptr address = 0;
    configure("init=3");
    check_all(CUDA_ERROR_NOT_INITIALIZED,
              {try_create(G), driver().cuMemAddressReserve(&address, G, 0, 0, 0),
               driver().cuMemMap(G, G, 0, 1, 0), driver().cuMemRelease(1)});
    configure("init=0");
    require_ok(driver().cuInit(0));
    const PhysicalMemory memory(G, on_device());
    const Reservation reserved(4 * GiB);
    map(reserved, G, memory);
    allow(reserved, G);
    CHECK(access_of(reserved) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

TEST_CASE("properties of physical memory are checked") {
    start("attribute.102=0");
    CHECK(try_create(G) == CUDA_ERROR_NOT_SUPPORTED);
    start();
    CHECK(try_create(most) == CUDA_ERROR_OUT_OF_MEMORY);
    auto properties = on_device();
    for (const int type : {0, 4, 77, -1}) {
        properties.location.type = static_cast<CUmemLocationType>(type);
        CHECK(try_create(G, properties) == invalid);
    }
#ifndef _WIN32
    properties = on_device();
    properties.win32HandleMetaData = &properties;
    CHECK(try_create(G, properties) == invalid);
#endif
}

TEST_CASE("a handle reports the properties it was created with") {
    start("devices=2");
    auto properties = on_device(1);
    properties.allocFlags.gpuDirectRDMACapable = 1;
    const PhysicalMemory memory(G, properties);
    auto read =
        got<CUmemAllocationProp>(&Driver::cuMemGetAllocationPropertiesFromHandle, out, memory);
    CHECK(std::memcmp(&read, &properties, sizeof read) == 0);
}

TEST_CASE("a reservation has the requested alignment, and a size that exists") {
    CUdeviceptr address = 0;
    Calls{&Driver::cuMemAddressReserve}[CUDA_ERROR_OUT_OF_MEMORY] = {
        {&address, most, 0, 0, 0}, {&address, G, ~std::size_t(0) / 2 + 1, 0, 0}};
    for (const std::size_t alignment : {std::size_t(4096), 4 * G, 64 * G}) {
        const Reservation aligned(G, alignment);
        CHECK(aligned % G == 0);
        CHECK(aligned % alignment == 0);
    }
}

TEST_CASE("a reservation is freed as a whole, once, and not by cuMemFree") {
    const auto address = reserve(4 * G);
    check_all(invalid, {driver().cuMemAddressFree(address, 5 * G),
                        driver().cuMemAddressFree(address + G, 3 * G)});
    CHECK(reported(driver().cuMemFree(address), "cuMemFree of address reservation") == invalid);
    ok(driver().cuMemAddressFree(address, 4 * G));
    CHECK(reported(driver().cuMemAddressFree(address, 4 * G), "memory that was freed") == invalid);
}

TEST_CASE("memory is mapped to granular addresses, beside and as aliases of other mappings") {
    const PhysicalMemory memory(2 * G, on_device());
    const Reservation address(8 * G);
    Calls{&Driver::cuMemMap}[invalid] = {{address, G / 2, 0, memory, 0},
                                         {address, G + 4096, 0, memory, 0}};
    Calls{&Driver::cuMemMap}[CUDA_ERROR_NOT_SUPPORTED] = {{address, most, 0, memory, 0},
                                                          {address, 2 * G, G, memory, 0}};
    for (const std::size_t at : {4 * G, 0 * G, 2 * G, 6 * G}) {
        map(address + at, 2 * G, memory);
    }
    unmap(address + 4 * G, 4 * G);
    allow(address, 4 * G);
    write(address + 100, 0x1234);
    CHECK(read(address + 2 * G + 100) == 0x1234);
    Calls{&Driver::cuMemUnmap}[invalid] = {
        {address + 1, 2 * G}, {address + G, G}, {address, 9 * G}, {address, 0}};
    unsigned long long flags = 0;
    const auto where = grant().location;
    CHECK(driver().cuMemGetAccess(&flags, &where, address + 4 * G) == invalid); // no longer mapped
}

TEST_CASE("a mapping past the end of its reservation is a misuse and is unusable there") {
    const PhysicalMemory memory(2 * G, on_device());
    const Reservation address(8 * G);
    map(address + 7 * G, 2 * G, memory);
    expect_misuse("lie past the end of address reservation");
    map(address, 2 * G, memory);
    map(address + 4 * G, 2 * G, memory);
    CHECK(driver().cuMemUnmap(address, 8 * G) == invalid); // would split the mapping
    ok(driver().cuMemUnmap(address, 4 * G));
    CHECK(driver().cuMemUnmap(address, 8 * G) == invalid);
    ok(driver().cuMemUnmap(address, 6 * G));
    CHECK(driver().cuMemAddressFree(address, 4 * G) == invalid);
    CHECK(driver().cuMemAddressFree(address, 8 * G) == invalid); // still mapped
    CHECK(set_access(address + 7 * G, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == invalid);
    allow(address + 7 * G, 2 * G);
    write(address + 8 * G - 4, 0x1234);
    CHECK(read(address + 8 * G - 4) == 0x1234);
    CHECK(try_write(address + 8 * G - 2) == invalid);
    CHECK(try_write(address + 8 * G) == invalid);
    CHECK(driver().cuMemUnmap(address + 7 * G, 3 * G) == invalid);
    unmap(address + 7 * G, 2 * G);
    CHECK(driver().cuMemUnmap(address + 7 * G, 2 * G) == invalid); // no longer in a reservation
}
