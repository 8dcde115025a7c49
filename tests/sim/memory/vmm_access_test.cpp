// Access of devices and of the host to mapped memory.
#include "vmm_ranges.hpp"

using namespace sim_test;

TEST_CASE("mapped memory is accessible from access being set to the unmapping") {
    const PhysicalMemory memory(G, on_device());
    const Reservation address(2 * G);
    CHECK(try_write(address) == invalid);
    map(address, G, memory);
    check_all(invalid, {try_write(address), try_read(address)});
    CHECK(sim_control().view(address, 4) == nullptr);
    allow(address, G);
    ok(try_write(address));
    check_all(invalid, {try_write(address + G - 2) /* crosses the end of the mapping */,
                        try_write(address + G), set_access(address, 0, read_write)});
    unmap(address, G);
    CHECK(try_write(address) == invalid);
    map(address, G, memory);
    CHECK(try_write(address) == invalid);
}

TEST_CASE("revoking access that enqueued work needs is reported") {
    start("mode=adversarial;devices=2;stall=0");
    const auto flags = GENERATE(no_access, read_only);
    Mapped memory(G), other(G);
    require_ok(set_access(memory.address, G, read_write, 1));
    const CUstream stream = make_stream(non_blocking);
    require_ok(driver().cuMemsetD8Async(memory.address, 7, 16, stream));
    // Changes of other memory or for another device are not reported.
    require_ok(set_access(other.address, G, no_access));
    require_ok(set_access(memory.address, G, no_access, 1));
    CHECK(misuses().empty());
    require_ok(set_access(memory.address, G, flags));
    if (flags == no_access) {
        expect_misuse("the access of device 0 to a part of");
    }
    CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("enqueued work uses memory that its device cannot access");
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("a copy may cross the boundary of two mappings") {
    const PhysicalMemory first(G, on_device()), second(G, on_device());
    const Reservation address(2 * G);
    map(address, G, first);
    map(address + G, G, second);
    allow(address, 2 * G);
    write(address + G - 2, 0xaabbccdd);
    CHECK(read(address + G - 2) == 0xaabbccdd);
    require_ok(set_access(address + G, G, read_only));
    CHECK(try_write(address + G - 2) == invalid);
    ok(try_read(address + G - 2));
}

TEST_CASE("a device without peer access cannot be granted access") {
    start("devices=2;peers=none");
    const PhysicalMemory memory(G, on_device(1));
    const Reservation address(G);
    map(address, G, memory);
    CHECK(set_access(address, G, read_write, 0) == CUDA_ERROR_INVALID_DEVICE);
    ok(set_access(address, G, read_write, 1));
}

TEST_CASE("a device with read access can copy from mapped memory and not write to it") {
    start("devices=2;" + std::string(GENERATE(from_range(all_modes()))));
    const Mapped memory(G, on_device(0));
    const CUdeviceptr at = memory.address;
    write(at, 77);
    synchronize();
    require_ok(set_access(at, G, read_only, 1));
    {
        const OnDevice other(1);
        const DeviceMemory own(16);
        std::uint32_t words[4] = {};
        check_all(CUDA_SUCCESS, {driver().cuMemcpyDtoHAsync(words, at, 16, nullptr),
                                 driver().cuMemcpyDtoDAsync(own, at, 16, nullptr)});
        check_all(invalid, {driver().cuMemcpyHtoDAsync(at, words, 16, nullptr),
                            driver().cuMemcpyDtoDAsync(at, own, 16, nullptr),
                            driver().cuStreamWriteValue32_v2(nullptr, at, 0x01010101, 0)});
        ok(driver().cuCtxSynchronize()); // the context has not failed
    }
    CHECK(misuses().empty());
    CHECK(read(at) == 77);
}

TEST_CASE("address queries find a mapping once a device has access") {
    start("devices=2");
    const PhysicalMemory memory(G, on_device(1));
    const Reservation address(4 * G);
    const CUdeviceptr mapped = address + 2 * G;
    map(mapped, G, memory);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CHECK(driver().cuMemGetAddressRange(&base, &size, mapped + 8) == CUDA_ERROR_NOT_FOUND);
    allow(mapped, G);
    CHECK(got(driver().cuMemGetAddressRange(&base, &size, mapped + 8), base) == mapped);
    CHECK(size == G);
    CHECK(driver().cuMemGetAddressRange(&base, &size, address) == CUDA_ERROR_NOT_FOUND);
    const auto number = [&](int attribute) {
        unsigned long long value = 0;
        ok(driver().cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(attribute),
                                          mapped + 8));
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
    require_ok(set_access(memory.address, G, read_only));
    CHECK(!is_deadly(view));
    CHECK(is_deadly(view, true));
    require_ok(set_access(memory.address, G, no_access));
    CHECK(is_deadly(view));
    require_ok(set_access(memory.address, G, read_write));
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
    require_ok(driver().cuMemSetAccess(memory.address, G, &access, 1));
    host[3] = 0xfeed;
    CHECK(read(memory.address + 12) == 0xfeed);
    write(memory.address + 16, 0xbeef);
    CHECK(host[4] == 0xbeef);
    unsigned long long flags = 0;
    ok(driver().cuMemGetAccess(&flags, &access.location, memory.address));
    CHECK(flags == read_write);
    access.flags = read_only;
    require_ok(driver().cuMemSetAccess(memory.address, G, &access, 1));
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
    for (const auto &[type, status] : {std::pair{2, CUDA_ERROR_NOT_SUPPORTED}, {9, invalid}}) {
        access.location.type = static_cast<CUmemLocationType>(type);
        CHECK(driver().cuMemSetAccess(memory.address, G, &access, 1) == status);
    }
}
