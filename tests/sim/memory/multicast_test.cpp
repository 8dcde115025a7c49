// Multicast objects: devices of a team and bound memory. Data transfer is not simulated.
#include "vmm_ranges.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

using namespace sim_test;

#if CUDA_VERSION >= 12010

namespace {

constexpr const char *two_devices = "devices=2;attribute.132=1";

CUmulticastObjectProp of_team(unsigned int devices, std::size_t size = 2 * G) {
    CUmulticastObjectProp properties{.numDevices = devices, .size = size};
    return properties;
}

CUmemGenericAllocationHandle create_multicast(const CUmulticastObjectProp &properties) {
    return got<CUmemGenericAllocationHandle>(&Driver::cuMulticastCreate, out, &properties);
}

CUmemGenericAllocationHandle complete_team(std::size_t size) {
    const auto object = create_multicast(of_team(2, size));
    require_ok(driver().cuMulticastAddDevice(object, 0));
    require_ok(driver().cuMulticastAddDevice(object, 1));
    return object;
}

struct Team : Owned<CUmemGenericAllocationHandle, release_physical> {
    explicit Team(const CUmulticastObjectProp &properties) : Owned(create_multicast(properties)) {}
};
// A team of devices 0 and 1.
struct CompleteTeam : Owned<CUmemGenericAllocationHandle, release_physical> {
    explicit CompleteTeam(std::size_t size = 2 * G) : Owned(complete_team(size)) {}
};

} // namespace

TEST_CASE("a team accepts each device once, up to its size") {
    start(two_devices);
    const auto object = create_multicast(of_team(2));
    const Calls add(&Driver::cuMulticastAddDevice);
    add[CUDA_ERROR_INVALID_DEVICE] = {{object, 2}};
    add[CUDA_SUCCESS] = {{object, 0}};
    add[invalid] = {{object, 0}}; // already in the team
    add[CUDA_SUCCESS] = {{object, 1}};
    const Team full(of_team(1));
    add[CUDA_SUCCESS] = {{full, 1}};
    add[invalid] = {{full, 0}};
    release_physical(object);
    add[invalid] = {{object, 0}};
    expect_misuse("use of a destroyed physical memory");
}

TEST_CASE("multicast objects need a device that supports them, and valid properties") {
    CUmemGenericAllocationHandle handle = 0;
    const auto valid = of_team(1);
    const Calls create([&](unsigned int devices, std::size_t size, unsigned long long types,
                           unsigned long long flags) {
        const CUmulticastObjectProp properties{devices, size, types, flags};
        return driver().cuMulticastCreate(&handle, &properties);
    });
    const Calls granularity([&](int flags) {
        std::size_t bytes = G;
        const CUresult status = driver().cuMulticastGetGranularity(
            &bytes, &valid, static_cast<CUmulticastGranularity_flags>(flags));
        CHECK((status != CUDA_SUCCESS || bytes == G));
        return status;
    });
    start("attribute.132=0");
    create[CUDA_ERROR_NOT_SUPPORTED] = {{1, 2 * G, 0, 0}};
    granularity[CUDA_ERROR_NOT_SUPPORTED] = {{CU_MULTICAST_GRANULARITY_MINIMUM}};
    start(two_devices);
    granularity[CUDA_SUCCESS] = {{CU_MULTICAST_GRANULARITY_RECOMMENDED}};
    granularity[invalid] = {{2}};
    create[invalid] = {
        {2, G + 1, 0, 0},  {2, 0, 0, 0},       {0, 2 * G, 0, 0}, {3, 2 * G, 0, 0},
        {64, 2 * G, 0, 0}, {~0u, 2 * G, 0, 0}, {2, 2 * G, 0, 1}, {2, 2 * G, 0x1000000000, 0}};
    create[CUDA_ERROR_NOT_PERMITTED] = {{2, 2 * G, 8, 0}};
    check_all(invalid, {driver().cuMulticastCreate(nullptr, &valid),
                        driver().cuMulticastCreate(&handle, nullptr)});
}

TEST_CASE("bound ranges must not overlap and are unbound as they were bound") {
    start(two_devices);
    const auto object = complete_team(4 * G);
    const auto first = create_memory(2 * G, on_device(0)),
               second = create_memory(2 * G, on_device(1));
    const Calls bind(&Driver::cuMulticastBindMem);
    ok(driver().cuMulticastBindMem(object, 0, first, 0, 2 * G, 0));
    CHECK(driver().cuMulticastBindMem(object, G, first, 0, G, 0) == invalid);
    ok(driver().cuMulticastBindMem(object, 0, second, 0, 2 * G, 0)); // another device may overlap
    ok(driver().cuMulticastBindMem(object, 2 * G, first, G, G, 0));
    bind[invalid] = {{object, 3 * G, first, G, 2 * G, 0}, {object, 3 * G, first, 0, 2 * G, 0},
                     {object, 3 * G + 1, first, 0, G, 0}, {object, 3 * G, first, 1, G, 0},
                     {object, 3 * G, first, 0, 0, 0},     {object, 3 * G, first, 0, G, 1},
                     {object, 3 * G, object, 0, G, 0},    {first, 0, second, 0, G, 0}};

    CHECK(reported(driver().cuMulticastUnbind(object, 0, 0, G),
                   "unbind of a range that is not bound") == invalid);
    ok(driver().cuMulticastUnbind(object, 0, 0, 2 * G));
    CHECK(driver().cuMulticastUnbind(object, 0, 0, 2 * G) == invalid);
    expect_misuse("unbind of a range that is not bound");
    ok(driver().cuMulticastUnbind(object, 1, 0, 2 * G));
    for (const auto handle : {first, second, object}) { // some memory is still bound
        release_physical(handle);
    }
}

TEST_CASE("only memory of team devices can be bound, and binding keeps it alive") {
    start("devices=3;attribute.132=1;budget=4MiB");
    const CompleteTeam object;
    const PhysicalMemory elsewhere(G, on_device(2));
    CHECK(driver().cuMulticastBindMem(object, 0, elsewhere, 0, G, 0) == CUDA_ERROR_INVALID_DEVICE);
    const auto memory = create_memory(2 * G, on_device());
    ok(driver().cuMulticastBindMem(object, 0, memory, 0, 2 * G, 0));
    release_physical(memory);
    CHECK(try_create(G) == CUDA_ERROR_OUT_OF_MEMORY);
    ok(driver().cuMulticastUnbind(object, 0, 0, 2 * G));
    ok(try_create(2 * G));
}

TEST_CASE("memory can be bound by its address") {
    start(two_devices);
    const CompleteTeam object;
    {
        const Mapped memory(2 * G);
        ok(driver().cuMulticastBindAddr(object, 0, memory.address + G, G, 0));
        CHECK(driver().cuMulticastBindAddr(object, G, memory.address + G, 2 * G, 0) == invalid);
        CHECK(driver().cuMulticastBindAddr(object, G, memory.address + 1, G, 0) == invalid);
        CHECK(driver().cuMulticastBindAddr(object, G, 0, G, 0) == invalid);
    }
    ok(driver().cuMulticastUnbind(object, 0, 0, G));
}

TEST_CASE("binding or mapping an incomplete team fails and is reported") {
    start(two_devices);
    const Team object(of_team(2));
    ok(driver().cuMulticastAddDevice(object, 0));
    const PhysicalMemory memory(2 * G, on_device());
    CHECK(driver().cuMulticastBindMem(object, 0, memory, 0, G, 0) == CUDA_ERROR_ILLEGAL_STATE);
    expect_misuse("only 1 of 2 devices added");
    const Reservation address(2 * G);
    CHECK(driver().cuMemMap(address, 2 * G, 0, object, 0) == CUDA_ERROR_ILLEGAL_STATE);
    expect_misuse("only 1 of 2 devices added");
}

TEST_CASE("a multicast object can be mapped but not copied to") {
    start(two_devices);
    const Reservation address(2 * G); // outlives the team
    const CompleteTeam object;
    map(address, 2 * G, object);
    const CUmemAccessDesc both[] = {grant(0), grant(1)};
    ok(driver().cuMemSetAccess(address, 2 * G, both, 2));
    CHECK(try_write(address) == invalid);
    CUmemAllocationProp properties{};
    CHECK(driver().cuMemGetAllocationPropertiesFromHandle(&properties, object) == invalid);
}

#ifndef _WIN32
TEST_CASE("a team can be joined through a file descriptor") {
    start(two_devices);
    auto properties = of_team(2);
    properties.handleTypes = posix_fd;
    const Team object(properties);
    const int fd = export_fd(object);
    const auto imported = import_fd(fd);
    close(fd);
    CHECK(imported != object);
    ok(driver().cuMulticastAddDevice(object, 0));
    CHECK(driver().cuMulticastAddDevice(imported, 0) == invalid);
    ok(driver().cuMulticastAddDevice(imported, 1));
    // Only memory that is exportable itself can be bound.
    const PhysicalMemory closed(2 * G, on_device()), open(2 * G, exportable());
    CHECK(driver().cuMulticastBindMem(imported, 0, closed, 0, G, 0) == invalid);
    ok(driver().cuMulticastBindMem(imported, 0, open, 0, G, 0));
    release_physical(imported);
}
#endif

#endif
