// Pools of host memory and of managed memory.
#include "pool_tools.hpp"

#if CUDA_VERSION >= 13000

using namespace sim_test;

namespace {

constexpr auto pinned = CU_MEM_ALLOCATION_TYPE_PINNED, managed = CU_MEM_ALLOCATION_TYPE_MANAGED;
constexpr auto none = CU_MEM_LOCATION_TYPE_NONE, on_device = CU_MEM_LOCATION_TYPE_DEVICE,
               on_host = CU_MEM_LOCATION_TYPE_HOST, on_node = CU_MEM_LOCATION_TYPE_HOST_NUMA,
               on_current_node = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;

CUmemPoolProps properties_at(CUmemAllocationType type, CUmemLocationType where, int id = 0,
                             unsigned int types = 0) {
    CUmemPoolProps properties = pool_properties(id, types);
    properties.allocType = type;
    properties.location.type = where;
    return properties;
}

CUresult creation(CUmemAllocationType type, CUmemLocationType where, int id = 0,
                  unsigned int types = 0) {
    const auto properties = properties_at(type, where, id, types);
    CUmemoryPool pool = nullptr;
    const CUresult status = driver().cuMemPoolCreate(&pool, &properties);
    if (status == CUDA_SUCCESS) {
        destroy(pool);
    }
    return status;
}

struct Place {
    CUmemAllocationType type;
    CUmemLocationType where;
};
constexpr Place host_places[] = {{pinned, on_host}, {pinned, on_node}},
                managed_places[] = {{managed, none},
                                    {managed, on_device},
                                    {managed, on_host},
                                    {managed, on_node},
                                    {managed, on_current_node}};

unsigned char *bytes_at(CUdeviceptr address) {
    return reinterpret_cast<unsigned char *>(static_cast<std::uintptr_t>(address));
}

CUmemAccessDesc access_of_device() {
    return grant(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

template <class T>
T attribute_of(CUdeviceptr address, CUpointer_attribute attribute) {
    return got<T>(&Driver::cuPointerGetAttribute, out, attribute, address);
}

} // namespace

TEST_CASE("pools exist for the host, its nodes, and managed memory") {
    for (const Place &place : host_places) {
        ok(creation(place.type, place.where));
    }
    for (const Place &place : managed_places) {
        ok(creation(place.type, place.where));
        CHECK(creation(place.type, place.where, 0, 1) == invalid);
    }
    ok(creation(pinned, on_host, 99));
    check_all(invalid, {creation(pinned, none), creation(pinned, on_current_node),
                        creation(pinned, on_node, 1), creation(managed, on_node, 1),
                        creation(managed, on_device, 1), creation(pinned, on_host, 0, 1),
                        creation(static_cast<CUmemAllocationType>(3), on_device)});
    CHECK(creation(managed, static_cast<CUmemLocationType>(5)) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("pools that the device attributes or the driver exclude are refused") {
    start("attribute.142=0;attribute.144=0");
    check_all(CUDA_ERROR_NOT_SUPPORTED, {creation(pinned, on_host), creation(pinned, on_node)});
    start("driver=12040");
    CHECK(creation(pinned, on_host) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(creation(managed, on_device) == invalid);
}

TEST_CASE("the host uses memory of host pools, devices need access") {
    start(GENERATE(from_range(all_modes())));
    for (const auto &[type, where] : host_places) {
        const Pool pool(properties_at(type, where));
        const PoolMemory memory(4096, pool);
        synchronize_stream();
        bytes_at(memory)[7] = 5;
        CHECK(attribute_of<CUmemorytype>(memory, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) ==
              CU_MEMORYTYPE_HOST);
        CHECK(attribute_of<CUdeviceptr>(memory, CU_POINTER_ATTRIBUTE_HOST_POINTER) == memory);
        CUdeviceptr found = 0;
        check_all(invalid, {driver().cuMemsetD8(memory, 1, 16),
                            driver().cuPointerGetAttribute(
                                &found, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory)});
        const CUmemAccessDesc access = access_of_device();
        ok(driver().cuMemPoolSetAccess(pool, &access, 1));
        ok(driver().cuMemsetD8(memory, 1, 4));
        synchronize_stream();
        CHECK(bytes_at(memory)[3] == 1);
        CHECK(bytes_at(memory)[7] == 5);
        CHECK(attribute_of<CUdeviceptr>(memory, CU_POINTER_ATTRIBUTE_DEVICE_POINTER) == memory);
        unsigned char byte = 0;
        CHECK(driver().cuMemcpyDtoH(&byte, memory, 1) == invalid); // it is not device memory
        ok(driver().cuMemcpy(memory + 8, memory, 4));
        synchronize_stream();
        CHECK(bytes_at(memory)[8] == 1);
    }
}

TEST_CASE("the host and devices use memory of managed pools") {
    start(GENERATE(from_range(all_modes())));
    for (const auto &[type, where] : managed_places) {
        const Pool pool(properties_at(type, where));
        const PoolMemory memory(4096, pool);
        ok(driver().cuMemsetD8Async(memory, 3, 4096, nullptr));
        synchronize_stream();
        CHECK(bytes_at(memory)[4095] == 3);
        bytes_at(memory)[0] = 4;
        CHECK(got<unsigned char>(&Driver::cuMemcpyDtoH, out, CUdeviceptr(memory), 1) == 4);
        CHECK(attribute_of<int>(memory, CU_POINTER_ATTRIBUTE_IS_MANAGED) == 1);
        CHECK(attribute_of<CUmemoryPool>(memory, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) == pool);
        int type_of_place = 77;
        ok(driver().cuMemRangeGetAttribute(&type_of_place, sizeof type_of_place,
                                           CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, memory,
                                           4096));
        CHECK(type_of_place == where);
        const CUmemLocation here = grant(0).location;
        ok(driver().cuMemPrefetchAsync(memory, 4096, here, 0, nullptr));
        CHECK(driver().cuMemAdvise(memory, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here) ==
              CUDA_ERROR_NOT_SUPPORTED);
    }
}

TEST_CASE("memory of the host does not count against a device") {
    const auto before = free_memory();
    const Pool host(properties_at(pinned, on_host)), moved(properties_at(managed, on_device));
    const PoolMemory first(1 << 20, host), second(1 << 20, moved);
    CHECK(free_memory() == before);
    CHECK(used(host) == 1 << 20);
    CHECK(reserved(moved) == 32 << 20);
    CUdeviceptr address = 0;
    CHECK(driver().cuMemAllocFromPoolAsync(&address, std::size_t(1) << 50, host, nullptr) ==
          CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(bytes_of(host, used_most) == 1 << 20);
}

TEST_CASE("each location has its own default and current pool") {
    CUmemLocation where{on_host, 0}, node{on_current_node, 0};
    const auto usual = got<CUmemoryPool>(&Driver::cuMemGetDefaultMemPool, out, &where, pinned);
    CHECK(usual != default_pool());
    {
        const Pool pool(properties_at(pinned, on_host));
        CHECK(driver().cuDeviceSetMemPool(0, pool) == invalid);
        CHECK(driver().cuMemSetMemPool(&where, managed, pool) == invalid);
        ok(driver().cuMemSetMemPool(&where, pinned, pool));
        CHECK(got<CUmemoryPool>(&Driver::cuMemGetMemPool, out, &where, pinned) == pool);
        CHECK(current_pool() == default_pool());
    }
    CHECK(got<CUmemoryPool>(&Driver::cuMemGetMemPool, out, &where, pinned) == usual);
    CUmemoryPool none_there = nullptr;
    CHECK(driver().cuMemGetDefaultMemPool(&none_there, &node, managed) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(driver().cuMemPoolDestroy(usual) == invalid);
}

TEST_CASE("the host keeps access to its pools, and has none to pools of devices") {
    const Pool host(properties_at(pinned, on_node)), device;
    CUmemAccessDesc access = access_of_device();
    access.location.type = on_node;
    CHECK(got<CUmemAccess_flags>(&Driver::cuMemPoolGetAccess, out, CUmemoryPool(host),
                                 &access.location) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(got<CUmemAccess_flags>(&Driver::cuMemPoolGetAccess, out, CUmemoryPool(device),
                                 &access.location) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    ok(driver().cuMemPoolSetAccess(host, &access, 1));
    CHECK(driver().cuMemPoolSetAccess(device, &access, 1) == CUDA_ERROR_NOT_SUPPORTED);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CHECK(driver().cuMemPoolSetAccess(host, &access, 1) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("a graph allocates pinned or managed memory of a device, and no other") {
    const Graph graph;
    const auto add = [&](CUmemAllocationType type, CUmemLocationType where) {
        CUDA_MEM_ALLOC_NODE_PARAMS wanted{.poolProps = properties_at(type, where),
                                          .bytesize = 1024};
        CUgraphNode node = nullptr;
        return driver().cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &wanted);
    };
    ok(add(pinned, on_device));
    ok(add(managed, on_device));
    check_all(CUDA_ERROR_NOT_SUPPORTED,
              {add(pinned, on_host), add(pinned, on_node), add(managed, none),
               add(managed, on_host), add(managed, on_node), add(managed, on_current_node)});
    check_all(invalid, {add(pinned, none), add(pinned, on_current_node)});
}

#ifndef _WIN32
TEST_CASE("a pool of a node of the host can be exported, and is used by the host") {
    const Pool pool(properties_at(pinned, on_node, 0, 1));
    const PoolMemory first(100, pool), second(100, pool);
    synchronize_stream();
    bytes_at(first)[99] = 1;
    bytes_at(second)[0] = 2;
    CHECK(bytes_at(first)[99] == 1);
    CHECK(bytes_at(second)[0] == 2);
}

TEST_CASE("memory of an imported pool of the host is memory of the host") {
    start(GENERATE(from_range(all_modes())));
    const Pool pool(properties_at(pinned, on_node, 0, posix_fd));
    const PoolMemory memory(100, pool), other(100, pool);
    synchronize_stream();
    const int fd =
        got<int>(&Driver::cuMemPoolExportToShareableHandle, out, CUmemoryPool(pool), posix_fd, 0);
    const Owned<CUmemoryPool, destroy> imported(got<CUmemoryPool>(
        &Driver::cuMemPoolImportFromShareableHandle, out, as_os_handle(fd), posix_fd, 0));
    close(fd);
    auto data =
        got<CUmemPoolPtrExportData>(&Driver::cuMemPoolExportPointer, out, CUdeviceptr(other));
    const auto seen =
        got<CUdeviceptr>(&Driver::cuMemPoolImportPointer, out, CUmemoryPool(imported), &data);
    CHECK(seen != other);
    bytes_at(other)[99] = 7;
    CHECK(bytes_at(seen)[99] == 7);
    CHECK(attribute_of<CUmemorytype>(seen, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) == CU_MEMORYTYPE_HOST);
    CHECK(attribute_of<CUdeviceptr>(seen, CU_POINTER_ATTRIBUTE_HOST_POINTER) == seen);
    const DeviceMemory there(16);
    ok(driver().cuMemsetD8(there, 5, 16));
    ok(driver().cuMemcpyAsync(seen, there, 16, nullptr)); // the device needs no access for it
    ok(driver().cuMemcpyAsync(memory, seen, 16, nullptr));
    synchronize_stream();
    CHECK(bytes_at(other)[15] == 5);
    CHECK(bytes_at(memory)[15] == 5);
    check_all(invalid, {driver().cuMemsetD8(seen, 1, 16),
                        driver().cuMemcpyAsync(seen + 96, there, 16, nullptr)}); // 100 bytes
    ok(driver().cuMemFreeAsync(seen, nullptr));
    synchronize_stream();
    CHECK(bytes_at(other)[15] == 5);
}
#endif

#endif
