// Access of devices and of the host to mapped memory.
#include "vmm_ranges.hpp"

using namespace sim_test;

TEST_CASE("mapped memory is inaccessible until access is set") {
    const PhysicalMemory memory(G, on_device());
    const Reservation address(2 * G);
    CHECK(try_write(address) == invalid);
    map(address, G, memory);
    CHECK(access_of(address) == no_access);
    CHECK(try_write(address) == invalid);
    CHECK(try_read(address) == invalid);
    CHECK(d.cuMemsetD8(address, 1, 16) == invalid);
    CHECK(sim_control().view(address, 4) == nullptr);
    // A rejected call does not fail the context.
    CHECK(d.cuCtxSynchronize() == good);

    const auto access = grant();
    const Calls set(&Driver::cuMemSetAccess); // only for a whole mapping
    set[invalid] = {{address, G, &access, 0},     {address, G, nullptr, 1},
                    {address, 0, &access, 1},     {address, 2 * G, &access, 1},
                    {address + G, G, &access, 1}, {address, G / 2, &access, 1}};
    CHECK(try_write(address) == invalid);
    CHECK(d.cuMemSetAccess(address, G, &access, 1) == good);
    CHECK(try_write(address) == good);
    CHECK(try_write(address + G - 2) == invalid); // crosses the end of the mapping
    CHECK(try_write(address + G) == invalid);

    // Unmapping revokes the access.
    unmap(address, G);
    CHECK(try_write(address) == invalid);
    map(address, G, memory);
    CHECK(try_write(address) == invalid);
}

TEST_CASE("access can be read-only and can be revoked") {
    Mapped memory(G);
    write(memory.address, 77);
    REQUIRE(set_access(memory.address, G, read_only) == good);
    CHECK(access_of(memory.address + 5) == read_only);
    CHECK(read(memory.address) == 77);
    CHECK(try_write(memory.address) == invalid);
    CHECK(d.cuMemsetD32(memory.address, 1, 1) == invalid);
    REQUIRE(set_access(memory.address, G, no_access) == good);
    CHECK(try_read(memory.address) == invalid);
    CHECK(set_access(memory.address, G, static_cast<CUmemAccess_flags>(2)) == invalid);
    CHECK(set_access(memory.address, G, static_cast<CUmemAccess_flags>(4)) == invalid);
    REQUIRE(set_access(memory.address, G, read_write) == good);
    CHECK(read(memory.address) == 77);
    CHECK(try_write(memory.address) == good);
}

TEST_CASE("revoking access that enqueued work needs is reported") {
    start("mode=adversarial;devices=2;stall=0");
    const auto flags = GENERATE(no_access, read_only);
    Mapped memory(G), other(G);
    REQUIRE(set_access(memory.address, G, read_write, 1) == good);
    const CUstream stream = make_stream(non_blocking);
    REQUIRE(d.cuMemsetD8Async(memory.address, 7, 16, stream) == good);
    // Changes of other memory or for another device are not reported.
    REQUIRE(set_access(other.address, G, no_access) == good);
    REQUIRE(set_access(memory.address, G, no_access, 1) == good);
    CHECK(misuses().empty());
    REQUIRE(set_access(memory.address, G, flags) == good);
    if (flags == no_access) {
        expect_misuse("the access of device 0 to a part of");
    }
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("enqueued work uses memory that its device cannot access");
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("a copy may cross the boundary of two mappings") {
    const PhysicalMemory first(G, on_device()), second(G, on_device());
    const Reservation address(2 * G);
    map(address, G, first);
    map(address + G, G, second);
    allow(address, 2 * G);
    write(address + G - 2, 0xaabbccdd);
    CHECK(read(address + G - 2) == 0xaabbccdd);
    REQUIRE(set_access(address + G, G, read_only) == good);
    CHECK(try_write(address + G - 2) == invalid);
    CHECK(try_read(address + G - 2) == good);
}

TEST_CASE("each device has its own access") {
    start("devices=3");
    const PhysicalMemory memory(G, on_device(1));
    const Reservation address(G);
    map(address, G, memory);
    const CUmemAccessDesc both[] = {grant(0, read_only), grant(1)};
    REQUIRE(d.cuMemSetAccess(address, G, both, 2) == good);
    CHECK(access_of(address, 0) == read_only);
    CHECK(access_of(address, 1) == read_write);
    CHECK(access_of(address, 2) == no_access);
    unsigned long long flags = 0;
    const CUmemLocation where = grant(0).location, nowhere = grant(3).location;
    const Calls get(&Driver::cuMemGetAccess);
    get[invalid] = {{&flags, &nowhere, address},
                    {nullptr, &where, address},
                    {&flags, nullptr, address},
                    {&flags, &where, address + G}};
    // A failed call changes no access.
    const CUmemAccessDesc partly[] = {grant(2), grant(7)};
    CHECK(d.cuMemSetAccess(address, G, partly, 2) == invalid);
    CHECK(access_of(address, 2) == no_access);
}

TEST_CASE("a device without peer access cannot be granted access") {
    start("devices=2;peers=none");
    const PhysicalMemory memory(G, on_device(1));
    const Reservation address(G);
    map(address, G, memory);
    CHECK(set_access(address, G, read_write, 0) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(set_access(address, G, read_write, 1) == good);
}

TEST_CASE("copies and memsets fail at once on a device without access") {
    start("devices=2;" + std::string(GENERATE(from_range(all_modes()))));
    const auto flags = GENERATE(no_access, read_only, read_write);
    const CUresult to_read = flags == no_access ? invalid : good;
    const CUresult to_write = flags == read_write ? good : invalid;
    const Mapped memory(G, on_device(0));
    const CUdeviceptr at = memory.address;
    write(at, 77);
    synchronize();
    REQUIRE(set_access(at, G, flags, 1) == good);
    {
        const OnDevice other(1);
        const DeviceMemory own(16);
        std::uint32_t words[4] = {};
        CHECK(d.cuMemcpyDtoH(words, at, 16) == to_read);
        CHECK(d.cuMemcpyDtoHAsync(words, at, 16, nullptr) == to_read);
        CHECK(d.cuMemcpyDtoD(own, at, 16) == to_read);
        CHECK(d.cuMemcpyDtoDAsync(own, at, 16, nullptr) == to_read);
        CHECK(d.cuMemcpyHtoD(at, words, 16) == to_write);
        CHECK(d.cuMemcpyHtoDAsync(at, words, 16, nullptr) == to_write);
        CHECK(d.cuMemcpyDtoD(at, own, 16) == to_write);
        CHECK(d.cuMemcpyDtoDAsync(at, own, 16, nullptr) == to_write);
        CHECK(d.cuMemsetD8(at, 1, 16) == to_write);
        CHECK(d.cuMemsetD8Async(at, 1, 16, nullptr) == to_write);
        CHECK(d.cuStreamWriteValue32_v2(nullptr, at, 0x01010101, 0) == to_write);
        CHECK(d.cuCtxSynchronize() == good); // the context has not failed
    }
    CHECK(misuses().empty());
    CHECK(read(at) == (to_write == good ? 0x01010101u : 77u));
}

TEST_CASE("address queries find a mapping once a device has access") {
    start("devices=2");
    const PhysicalMemory memory(G, on_device(1));
    const Reservation address(4 * G);
    const CUdeviceptr mapped = address + 2 * G;
    map(mapped, G, memory);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CHECK(d.cuMemGetAddressRange(&base, &size, mapped + 8) == CUDA_ERROR_NOT_FOUND);
    allow(mapped, G);
    CHECK(got(d.cuMemGetAddressRange(&base, &size, mapped + 8), base) == mapped);
    CHECK(size == G);
    CHECK(d.cuMemGetAddressRange(&base, &size, address) == CUDA_ERROR_NOT_FOUND);
    const auto number = [&](int attribute) {
        unsigned long long value = 0;
        CHECK(d.cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(attribute),
                                      mapped + 8) == good);
        return value;
    };
    constexpr int mapping_size = 18, mapping_base = 19;
    CHECK(number(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) == 1);
    CHECK(number(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) == address); // the reservation's address
    CHECK(number(CU_POINTER_ATTRIBUTE_RANGE_SIZE) == 4 * G);
    CHECK(number(mapping_base) == mapped);
    CHECK(number(mapping_size) == G);
}

#ifndef _WIN32
TEST_CASE("the host can access mapped device memory only through view, as access permits") {
    const Mapped memory(G);
    const void *view = sim_control().view(memory.address, G);
    REQUIRE(view != nullptr);
    CHECK(is_deadly(as_host(memory.address), true));
    CHECK(!is_deadly(view, true));
    REQUIRE(set_access(memory.address, G, read_only) == good);
    CHECK(!is_deadly(view));
    CHECK(is_deadly(view, true));
    REQUIRE(set_access(memory.address, G, no_access) == good);
    CHECK(is_deadly(view));
    REQUIRE(set_access(memory.address, G, read_write) == good);
    CHECK(!is_deadly(view, true));
    unmap(memory.address, G);
    CHECK(is_deadly(view));
}

TEST_CASE("mapped host memory is accessible to host and device") {
    auto properties = on_device();
    properties.location.type = static_cast<CUmemLocationType>(GENERATE(2, 3)); // HOST, HOST_NUMA
    const auto before = free_memory();
    const Mapped memory(G, properties);
    auto *host = static_cast<std::uint32_t *>(as_host(memory.address));
    CHECK(free_memory() == before); // of the device
    CHECK(is_deadly(host, true));
    CUmemAccessDesc access{.location = properties.location, .flags = read_write};
    REQUIRE(d.cuMemSetAccess(memory.address, G, &access, 1) == good);
    host[3] = 0xfeed;
    CHECK(read(memory.address + 12) == 0xfeed);
    write(memory.address + 16, 0xbeef);
    CHECK(host[4] == 0xbeef);
    unsigned long long flags = 0;
    CHECK(d.cuMemGetAccess(&flags, &access.location, memory.address) == good);
    CHECK(flags == read_write);
    access.flags = read_only;
    REQUIRE(d.cuMemSetAccess(memory.address, G, &access, 1) == good);
    CHECK(is_deadly(host, true));
    CHECK(host[4] == 0xbeef);
    unmap(memory.address, G);
    CHECK(is_deadly(host, true));
}
#endif

TEST_CASE("invalid uses of host memory locations are rejected") {
    auto properties = exportable();
    properties.location.type = static_cast<CUmemLocationType>(2);
    CHECK(try_create(G, properties) == invalid);
    properties = on_device(1); // no such node
    properties.location.type = static_cast<CUmemLocationType>(3);
    CHECK(try_create(G, properties) == invalid);
    const Mapped memory(G);
    CUmemAccessDesc access = grant();
    for (const int type : {2, 9}) {
        access.location.type = static_cast<CUmemLocationType>(type);
        CHECK(d.cuMemSetAccess(memory.address, G, &access, 1) == invalid);
    }
}
