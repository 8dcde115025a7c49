// Multicast objects: who is in the team, what is bound where. No data goes through them here.
#include "vmm_tools.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

using namespace sim_test;

#if CUDA_VERSION >= 12010

namespace {
constexpr std::size_t G = default_granularity;
constexpr const char *two_devices = "devices=2;attribute.132=1";

CUmulticastObjectProp of_team(unsigned int devices, std::size_t size = 2 * G) {
    CUmulticastObjectProp properties{.numDevices = devices, .size = size};
    return properties;
}

CUmemGenericAllocationHandle create_multicast(const CUmulticastObjectProp &properties) {
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE(d.cuMulticastCreate(&handle, &properties) == good);
    return handle;
}

CUmemGenericAllocationHandle complete_team(std::size_t size = 2 * G) {
    const auto object = create_multicast(of_team(2, size));
    REQUIRE(d.cuMulticastAddDevice(object, 0) == good);
    REQUIRE(d.cuMulticastAddDevice(object, 1) == good);
    return object;
}

} // namespace

TEST_CASE("a device without multicast has none") {
    start("attribute.132=0");
    const auto properties = of_team(1);
    CUmemGenericAllocationHandle handle = 0;
    std::size_t granularity = 0;
    CHECK(d.cuMulticastCreate(&handle, &properties) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(
        d.cuMulticastGetGranularity(&granularity, &properties, CU_MULTICAST_GRANULARITY_MINIMUM) ==
        CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("a team is created, filled and released") {
    start(two_devices);
    const auto object = create_multicast(of_team(2));
    CHECK(d.cuMulticastAddDevice(object, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuMulticastAddDevice(object, 0) == good);
    CHECK(d.cuMulticastAddDevice(object, 0) == invalid); // is in it
    CHECK(d.cuMulticastAddDevice(object, 1) == good);
    release_physical(object);
    CHECK(d.cuMulticastAddDevice(object, 0) == invalid);
    expect_misuse("use of a destroyed physical memory");
}

TEST_CASE("a full team takes no more devices") {
    start(two_devices);
    const auto object = create_multicast(of_team(1));
    CHECK(d.cuMulticastAddDevice(object, 1) == good);
    CHECK(d.cuMulticastAddDevice(object, 0) == invalid);
    release_physical(object);
}

TEST_CASE("properties of multicast objects are checked") {
    start(two_devices);
    CUmemGenericAllocationHandle handle = 0;
    std::size_t granularity = 0;
    auto properties = of_team(2);
    CHECK(d.cuMulticastCreate(nullptr, &properties) == invalid);
    CHECK(d.cuMulticastCreate(&handle, nullptr) == invalid);
    CHECK(d.cuMulticastGetGranularity(&granularity, &properties,
                                      CU_MULTICAST_GRANULARITY_RECOMMENDED) == good);
    CHECK(granularity == G);
    CHECK(d.cuMulticastGetGranularity(&granularity, &properties,
                                      static_cast<CUmulticastGranularity_flags>(2)) == invalid);
    properties.size = G + 1;
    CHECK(d.cuMulticastCreate(&handle, &properties) == invalid);
    properties.size = 0;
    CHECK(d.cuMulticastCreate(&handle, &properties) == invalid);
    for (const unsigned int devices : {0u, 3u, 64u, ~0u}) {
        properties = of_team(devices);
        CHECK(d.cuMulticastCreate(&handle, &properties) == invalid);
    }
    properties = of_team(2);
    properties.flags = 1;
    CHECK(d.cuMulticastCreate(&handle, &properties) == invalid);
    properties = of_team(2);
    properties.handleTypes = 8;
    CHECK(d.cuMulticastCreate(&handle, &properties) == CUDA_ERROR_NOT_PERMITTED);
    properties.handleTypes = 0x1000000000;
    CHECK(d.cuMulticastCreate(&handle, &properties) == invalid);
}

TEST_CASE("memory is bound, overlaps are refused, and unbound as it was bound") {
    start(two_devices);
    const auto object = complete_team(4 * G);
    const auto first = create_memory(2 * G, on_device(0)),
               second = create_memory(2 * G, on_device(1));
    CHECK(d.cuMulticastBindMem(object, 0, first, 0, 2 * G, 0) == good);
    CHECK(d.cuMulticastBindMem(object, G, first, 0, G, 0) == invalid);
    CHECK(d.cuMulticastBindMem(object, 0, second, 0, 2 * G, 0) == good); // another device
    CHECK(d.cuMulticastBindMem(object, 2 * G, first, G, G, 0) == good);
    CHECK(d.cuMulticastBindMem(object, 3 * G, first, G, 2 * G, 0) == invalid);
    CHECK(d.cuMulticastBindMem(object, 3 * G, first, 0, 2 * G, 0) == invalid);
    CHECK(d.cuMulticastBindMem(object, 3 * G + 1, first, 0, G, 0) == invalid);
    CHECK(d.cuMulticastBindMem(object, 3 * G, first, 1, G, 0) == invalid);
    CHECK(d.cuMulticastBindMem(object, 3 * G, first, 0, 0, 0) == invalid);
    CHECK(d.cuMulticastBindMem(object, 3 * G, first, 0, G, 1) == invalid);
    CHECK(d.cuMulticastBindMem(object, 3 * G, object, 0, G, 0) == invalid);
    CHECK(d.cuMulticastBindMem(first, 0, second, 0, G, 0) == invalid);

    CHECK(d.cuMulticastUnbind(object, 0, 0, G) == invalid);
    expect_misuse("unbind of a range that is not bound");
    CHECK(d.cuMulticastUnbind(object, 0, 0, 2 * G) == good);
    CHECK(d.cuMulticastUnbind(object, 0, 0, 2 * G) == invalid);
    expect_misuse("unbind of a range that is not bound");
    CHECK(d.cuMulticastUnbind(object, 1, 0, 2 * G) == good);
    release_physical(first);
    release_physical(second);
    release_physical(object); // with what is bound still
}

TEST_CASE("memory of a device outside the team is refused") {
    start("devices=3;attribute.132=1");
    const auto object = complete_team();
    const PhysicalMemory memory(G, on_device(2));
    CHECK(d.cuMulticastBindMem(object, 0, memory, 0, G, 0) == CUDA_ERROR_INVALID_DEVICE);
    release_physical(object);
}

TEST_CASE("bound memory stays while it is bound") {
    start("devices=2;attribute.132=1;budget=4MiB");
    const auto object = complete_team();
    const auto memory = create_memory(2 * G, on_device());
    CHECK(d.cuMulticastBindMem(object, 0, memory, 0, 2 * G, 0) == good);
    release_physical(memory);
    CUmemGenericAllocationHandle handle = 0;
    const auto properties = on_device();
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMulticastUnbind(object, 0, 0, 2 * G) == good);
    release_physical(create_memory(2 * G, properties));
    release_physical(object);
}

TEST_CASE("memory is bound by its address, too") {
    start(two_devices);
    const auto object = complete_team();
    {
        Mapped memory(2 * G);
        CHECK(d.cuMulticastBindAddr(object, 0, memory.address + G, G, 0) == good);
        CHECK(d.cuMulticastBindAddr(object, G, memory.address + G, 2 * G, 0) == invalid);
        CHECK(d.cuMulticastBindAddr(object, G, memory.address + 1, G, 0) == invalid);
        CHECK(d.cuMulticastBindAddr(object, G, 0, G, 0) == invalid);
    }
    CHECK(d.cuMulticastUnbind(object, 0, 0, G) == good);
    release_physical(object);
}

TEST_CASE("a team that is not complete cannot be used yet") {
    start(two_devices);
    const auto object = create_multicast(of_team(2));
    CHECK(d.cuMulticastAddDevice(object, 0) == good);
    const PhysicalMemory memory(2 * G, on_device());
    CHECK(d.cuMulticastBindMem(object, 0, memory, 0, G, 0) == CUDA_ERROR_ILLEGAL_STATE);
    expect_misuse("only 1 of 2 devices were added");
    const auto address = reserve(2 * G);
    CHECK(d.cuMemMap(address, 2 * G, 0, object, 0) == CUDA_ERROR_ILLEGAL_STATE);
    expect_misuse("only 1 of 2 devices were added");
    free_reserved(address, 2 * G);
    release_physical(object);
}

TEST_CASE("a multicast object maps like memory, and refuses copies") {
    start(two_devices);
    const auto object = complete_team();
    const auto address = reserve(2 * G);
    map(address, 2 * G, object);
    const CUmemAccessDesc both[] = {grant(0), grant(1)};
    CHECK(d.cuMemSetAccess(address, 2 * G, both, 2) == good);
    const std::uint32_t value = 1;
    CHECK(d.cuMemcpyHtoD(address, &value, sizeof value) == invalid);
    CUmemAllocationProp properties{};
    CHECK(d.cuMemGetAllocationPropertiesFromHandle(&properties, object) == invalid);
    release_physical(object);
    unmap(address, 2 * G);
    free_reserved(address, 2 * G);
}

#ifndef _WIN32
TEST_CASE("a team is joined through a descriptor") {
    start(two_devices);
    auto properties = of_team(2);
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const auto object = create_multicast(properties);
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           0) == good);
    CUmemGenericAllocationHandle imported = 0;
    REQUIRE(d.cuMemImportFromShareableHandle(
                &imported, reinterpret_cast<void *>(static_cast<std::intptr_t>(fd)),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == good);
    close(fd);
    CHECK(imported != object);
    CHECK(d.cuMulticastAddDevice(object, 0) == good);
    CHECK(d.cuMulticastAddDevice(imported, 0) == invalid);
    CHECK(d.cuMulticastAddDevice(imported, 1) == good);
    // Only memory that can be exported itself.
    const PhysicalMemory closed(2 * G, on_device());
    const PhysicalMemory open(2 * G, on_device(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CHECK(d.cuMulticastBindMem(imported, 0, closed, 0, G, 0) == invalid);
    CHECK(d.cuMulticastBindMem(imported, 0, open, 0, G, 0) == good);
    release_physical(imported);
    release_physical(object);
}
#endif

#else

TEST_CASE("multicast objects came with CUDA 12.1") {
    SKIP("the headers of this build are older");
}

#endif
