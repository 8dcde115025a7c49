// Memory pools: created ones, those of the devices, what they count, and pools of other processes.
#include "child_process.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

using namespace sim_test;

namespace {

const auto &d = cushim::driver();
constexpr std::size_t MiB = std::size_t(1) << 20;
constexpr auto invalid = CUDA_ERROR_INVALID_VALUE;
constexpr auto good = CUDA_SUCCESS;

CUmemPoolProps on_device(int ordinal = 0, unsigned int types = 0) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = static_cast<CUmemAllocationHandleType>(types);
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = ordinal;
    return properties;
}

CUmemoryPool create_pool(const CUmemPoolProps &properties = on_device()) {
    CUmemoryPool pool = nullptr;
    REQUIRE(d.cuMemPoolCreate(&pool, &properties) == good);
    return pool;
}

void destroy(CUmemoryPool pool) {
    REQUIRE(d.cuMemPoolDestroy(pool) == good);
}

CUmemoryPool default_pool(int ordinal = 0) {
    CUmemoryPool pool = nullptr;
    REQUIRE(d.cuDeviceGetDefaultMemPool(&pool, ordinal) == good);
    return pool;
}

CUmemoryPool current_pool(int ordinal = 0) {
    CUmemoryPool pool = nullptr;
    REQUIRE(d.cuDeviceGetMemPool(&pool, ordinal) == good);
    return pool;
}

cuuint64_t bytes_of(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    REQUIRE(d.cuMemPoolGetAttribute(pool, attribute, &value) == good);
    return value;
}

cuuint64_t used(CUmemoryPool pool) {
    return bytes_of(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
}
cuuint64_t reserved(CUmemoryPool pool) {
    return bytes_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

CUresult set_bytes(CUmemoryPool pool, CUmemPool_attribute attribute, cuuint64_t value) {
    return d.cuMemPoolSetAttribute(pool, attribute, &value);
}

CUdeviceptr allocate(CUmemoryPool pool, std::size_t size) {
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAllocFromPoolAsync(&address, size, pool, nullptr) == good);
    return address;
}

void free_async(CUdeviceptr address) {
    REQUIRE(d.cuMemFreeAsync(address, nullptr) == good);
}
void synchronize() {
    REQUIRE(d.cuStreamSynchronize(nullptr) == good);
}

std::size_t free_memory() {
    std::size_t available = 0, total = 0;
    REQUIRE(d.cuMemGetInfo(&available, &total) == good);
    return available;
}

CUmemAccessDesc grant(int ordinal, CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = ordinal;
    access.flags = flags;
    return access;
}

std::uint32_t read(CUdeviceptr address) {
    std::uint32_t value = 0;
    REQUIRE(d.cuMemcpyDtoH(&value, address, sizeof value) == good);
    return value;
}

void write(CUdeviceptr address, std::uint32_t value) {
    REQUIRE(d.cuMemcpyHtoD(address, &value, sizeof value) == good);
}

} // namespace

TEST_CASE("pools need no current context", "[pool]") {
    REQUIRE(d.cuInit(0) == good);
    CHECK(default_pool() == current_pool());
    const auto pool = create_pool();
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 5) == good);
    destroy(pool);
}

TEST_CASE("every device has a default pool, which is no leak and cannot be destroyed", "[pool]") {
    start("devices=2");
    CHECK(default_pool(0) != default_pool(1));
    CHECK(default_pool(0) == default_pool(0));
    CHECK(d.cuMemPoolDestroy(default_pool(0)) == invalid);
    CHECK(leaks().empty());
    CUmemoryPool pool = nullptr;
    CHECK(d.cuDeviceGetDefaultMemPool(&pool, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuDeviceGetMemPool(&pool, -1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuDeviceGetDefaultMemPool(nullptr, 0) == invalid);
    CHECK(d.cuDeviceGetMemPool(nullptr, 0) == invalid);
}

TEST_CASE("a pool is created and destroyed", "[pool]") {
    start("devices=2");
    const auto pool = create_pool(on_device(1));
    CHECK(leaks().size() == 1);
    CHECK(d.cuMemPoolDestroy(pool) == good);
    CHECK(d.cuMemPoolDestroy(pool) == invalid);
    expect_misuse("use of a destroyed memory pool");
    CHECK(d.cuMemPoolDestroy(nullptr) == invalid);
    CUmemoryPool other = nullptr;
    auto properties = on_device();
    CHECK(d.cuMemPoolCreate(nullptr, &properties) == invalid);
    CHECK(d.cuMemPoolCreate(&other, nullptr) == invalid);
    properties.location.id = 2;
    CHECK(d.cuMemPoolCreate(&other, &properties) == invalid);
    properties = on_device();
    properties.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    CHECK(d.cuMemPoolCreate(&other, &properties) == invalid);
    properties = on_device();
    properties.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    CHECK(d.cuMemPoolCreate(&other, &properties) == invalid);
    properties = on_device();
    properties.reserved[3] = 1;
    CHECK(d.cuMemPoolCreate(&other, &properties) == invalid);
    properties = on_device(0, 8); // fabric
    CHECK(d.cuMemPoolCreate(&other, &properties) == CUDA_ERROR_NOT_PERMITTED);
    CHECK(reinterpret_cast<std::uintptr_t>(other) == 0xbdbdbdbdbdbdbdbd);
}

TEST_CASE("a device without pools has none", "[pool]") {
    start("attribute.115=0");
    CUmemoryPool pool = nullptr;
    CUdeviceptr address = 0;
    const auto properties = on_device();
    CHECK(d.cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuMemPoolCreate(&pool, &properties) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuMemAllocAsync(&address, 16, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("the current pool of a device is where cuMemAllocAsync takes from", "[pool]") {
    start("devices=2");
    const auto pool = create_pool(), elsewhere = create_pool(on_device(1));
    CHECK(d.cuDeviceSetMemPool(0, pool) == good);
    CHECK(current_pool() == pool);
    CHECK(current_pool(1) == default_pool(1));
    CHECK(d.cuDeviceSetMemPool(0, elsewhere) == invalid);
    CHECK(d.cuDeviceSetMemPool(0, nullptr) == invalid);
    CHECK(d.cuDeviceSetMemPool(2, pool) == CUDA_ERROR_INVALID_DEVICE);
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAllocAsync(&address, 1000, nullptr) == good);
    CHECK(used(pool) == 1000);
    CHECK(used(default_pool()) == 0);
    free_async(address);
    synchronize();
    // The end of the current pool makes the default one current again.
    destroy(pool);
    CHECK(current_pool() == default_pool());
    destroy(elsewhere);
}

#if CUDA_VERSION >= 13000
TEST_CASE("pools by location", "[pool]") {
    start("devices=2");
    CUmemLocation where = grant(1).location;
    CUmemoryPool pool = nullptr;
    CHECK(d.cuMemGetDefaultMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) == good);
    CHECK(pool == default_pool(1));
    const auto own = create_pool(on_device(1));
    CHECK(d.cuMemSetMemPool(&where, CU_MEM_ALLOCATION_TYPE_PINNED, own) == good);
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) == good);
    CHECK(pool == own);
    CHECK(current_pool(1) == own);
    destroy(own);
    where.id = 2;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) ==
          CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuMemGetMemPool(&pool, nullptr, CU_MEM_ALLOCATION_TYPE_PINNED) == invalid);
    where.id = 0;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_INVALID) == invalid);
    where.type = CU_MEM_LOCATION_TYPE_NONE;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) == invalid);
    where.type = CU_MEM_LOCATION_TYPE_HOST;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) ==
          CUDA_ERROR_NOT_SUPPORTED);
}
#endif

TEST_CASE("attributes have their defaults, and what they are set to", "[pool]") {
    start();
    const auto pool = create_pool();
    for (const auto attribute : {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
        int value = 7;
        CHECK(d.cuMemPoolGetAttribute(pool, attribute, &value) == good);
        CHECK(value == 1);
        value = 0;
        CHECK(d.cuMemPoolSetAttribute(pool, attribute, &value) == good);
        value = 7;
        CHECK(d.cuMemPoolGetAttribute(pool, attribute, &value) == good);
        CHECK(value == 0);
    }
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 0);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~cuuint64_t(0)) == good);
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == ~cuuint64_t(0));

    cuuint64_t value = 0;
    for (const int unknown : {0, 77, -1}) {
        CHECK(d.cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(unknown), &value) ==
              invalid);
        CHECK(set_bytes(pool, static_cast<CUmemPool_attribute>(unknown), 0) == invalid);
    }
    CHECK(d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr) == invalid);
    CHECK(d.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr) == invalid);
    CHECK(d.cuMemPoolGetAttribute(nullptr, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value) == invalid);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 0) == invalid);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 0) == invalid);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 1) == invalid);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 1) == invalid);
    destroy(pool);
}

TEST_CASE("what is used and what is reserved is counted, with watermarks", "[pool]") {
    start(GENERATE(from_range(all_modes())));
    const auto pool = create_pool();
    const auto before = free_memory();
    const auto first = allocate(pool, MiB), second = allocate(pool, 39 * MiB);
    CHECK(used(pool) == 40 * MiB);
    CHECK(reserved(pool) == 64 * MiB); // in steps of 32 MiB
    CHECK(free_memory() == before - 64 * MiB);
    free_async(second);
    CHECK(used(pool) == MiB);
    CHECK(reserved(pool) == 64 * MiB); // until the next synchronisation
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 40 * MiB);
    synchronize();
    CHECK(reserved(pool) == 32 * MiB);
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 64 * MiB);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0) == good);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0) == good);
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == MiB);
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 32 * MiB);
    free_async(first);
    synchronize();
    CHECK(used(pool) == 0);
    CHECK(reserved(pool) == 0);
    CHECK(free_memory() == before);
    destroy(pool);
}

TEST_CASE("a synchronisation with an event or the context releases memory, too", "[pool]") {
    start();
    const auto pool = create_pool();
    CUevent event = nullptr;
    REQUIRE(d.cuEventCreate(&event, 0) == good);
    free_async(allocate(pool, MiB));
    CHECK(reserved(pool) != 0);
    REQUIRE(d.cuEventRecord(event, nullptr) == good);
    REQUIRE(d.cuEventSynchronize(event) == good);
    CHECK(reserved(pool) == 0);
    free_async(allocate(pool, MiB));
    REQUIRE(d.cuCtxSynchronize() == good);
    CHECK(reserved(pool) == 0);
    REQUIRE(d.cuEventDestroy(event) == good);
    destroy(pool);
}

TEST_CASE("a release threshold keeps memory in the pool, trimming takes it", "[pool]") {
    start();
    const auto pool = create_pool();
    REQUIRE(set_bytes(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 80 * MiB) == good);
    const auto keep = allocate(pool, MiB);
    free_async(allocate(pool, 100 * MiB));
    CHECK(reserved(pool) == 128 * MiB);
    synchronize();
    CHECK(reserved(pool) == 80 * MiB);
    CHECK(d.cuMemPoolTrimTo(pool, 90 * MiB) == good); // has less
    CHECK(reserved(pool) == 80 * MiB);
    CHECK(d.cuMemPoolTrimTo(pool, 40 * MiB) == good);
    CHECK(reserved(pool) == 40 * MiB);
    CHECK(d.cuMemPoolTrimTo(pool, 0) == good);
    CHECK(reserved(pool) == 32 * MiB); // what is used
    CHECK(d.cuMemPoolTrimTo(nullptr, 0) == invalid);
    free_async(keep);
    synchronize();
    destroy(pool);
}

TEST_CASE("what a pool reserves is missing elsewhere", "[pool]") {
    start("budget=16MiB");
    const auto pool = default_pool();
    REQUIRE(set_bytes(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~cuuint64_t(0)) == good);
    free_async(allocate(pool, 12 * MiB));
    synchronize();
    CUdeviceptr address = 0;
    CHECK(d.cuMemAlloc(&address, 8 * MiB) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemPoolTrimTo(pool, 0) == good);
    CHECK(d.cuMemAlloc(&address, 8 * MiB) == good);
    CUdeviceptr more = 0;
    CHECK(d.cuMemAllocFromPoolAsync(&more, 9 * MiB, pool, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(more == 0xbdbdbdbdbdbdbdbd);
    more = allocate(pool, 8 * MiB);
    CHECK(d.cuMemFree(address) == good);
    free_async(more);
}

TEST_CASE("the budget need not be a multiple of anything", "[pool]") {
    start("budget=1000000");
    const auto address = allocate(default_pool(), 999999);
    CUdeviceptr more = 0;
    CHECK(d.cuMemAllocAsync(&more, 2, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemAllocAsync(&more, 1, nullptr) == good);
    free_async(address);
    free_async(more);
}

TEST_CASE("freed memory can be had again at once, though nothing ran", "[pool]") {
    start("budget=16MiB;" + GENERATE(from_range(all_modes())));
    for (int i = 0; i != 20; ++i) {
        free_async(allocate(default_pool(), 12 * MiB));
    }
    synchronize();
}

#if CUDA_VERSION >= 12020
TEST_CASE("a pool stays below its maximal size", "[pool]") {
    start();
    auto properties = on_device();
    properties.maxSize = 3 * MiB;
    const auto pool = create_pool(properties);
    const auto address = allocate(pool, 2 * MiB);
    CUdeviceptr more = 0;
    CHECK(d.cuMemAllocFromPoolAsync(&more, 2 * MiB, pool, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    more = allocate(pool, MiB);
    free_async(address);
    free_async(more);
    synchronize();
    destroy(pool);
}
#endif

TEST_CASE("a pool that is destroyed lives until its last allocation ends", "[pool]") {
    start(GENERATE(from_range(all_modes())));
    const auto before = free_memory();
    const auto pool = create_pool();
    const auto address = allocate(pool, MiB);
    write(address, 4);
    destroy(pool);
    CHECK(read(address) == 4);
    CHECK(leaks().size() == 1); // the allocation
    CUdeviceptr more = 0;
    CHECK(d.cuMemAllocFromPoolAsync(&more, 16, pool, nullptr) == invalid);
    expect_misuse("use of a destroyed memory pool");
    free_async(address);
    synchronize();
    CHECK(free_memory() == before);
}

TEST_CASE("the access of other devices", "[pool]") {
    start("devices=3");
    const auto pool = create_pool();
    CUmemAccess_flags flags{};
    CUmemLocation where = grant(0).location;
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &where) == good);
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    where = grant(1).location;
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &where) == good);
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    auto access = grant(1);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == good);
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &where) == good);
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

    CHECK(d.cuMemPoolSetAccess(pool, &access, 0) == invalid);
    CHECK(d.cuMemPoolSetAccess(pool, nullptr, 1) == invalid);
    CHECK(d.cuMemPoolSetAccess(nullptr, &access, 1) == invalid);
    CHECK(d.cuMemPoolGetAccess(nullptr, pool, &where) == invalid);
    CHECK(d.cuMemPoolGetAccess(&flags, pool, nullptr) == invalid);
    access = grant(3);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == invalid);
    access = grant(0);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == good);
    access = grant(0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == CUDA_ERROR_INVALID_DEVICE);
    access = grant(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == CUDA_ERROR_NOT_SUPPORTED);
    access = grant(1, static_cast<CUmemAccess_flags>(2));
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == invalid);
    where.type = CU_MEM_LOCATION_TYPE_INVALID;
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &where) == invalid);
    destroy(pool);
}

TEST_CASE("a device that a pool does not let in fails", "[pool]") {
    start("devices=2");
    const auto pool = create_pool();
    const auto address = allocate(pool, 4096);
    synchronize();
    CUcontext other = nullptr;
    REQUIRE(d.cuDevicePrimaryCtxRetain(&other, 1) == good);
    REQUIRE(d.cuCtxPushCurrent(other) == good);
    const bool let_in = GENERATE(true, false);
    if (let_in) {
        const auto access = grant(1);
        REQUIRE(d.cuMemPoolSetAccess(pool, &access, 1) == good);
    }
    CHECK(d.cuMemsetD8Async(address, 1, 16, nullptr) == good);
    CHECK(d.cuCtxSynchronize() == (let_in ? good : CUDA_ERROR_ILLEGAL_ADDRESS));
    CHECK(d.cuCtxPopCurrent(&other) == good);
    CHECK(d.cuDevicePrimaryCtxReset(1) == good);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
    free_async(address);
    synchronize();
    destroy(pool);
}

TEST_CASE("a device without peer access is not let in", "[pool]") {
    start("devices=2;peers=none");
    const auto pool = create_pool();
    const auto access = grant(1);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == CUDA_ERROR_INVALID_DEVICE);
    destroy(pool);
}

#ifndef _WIN32
namespace {

constexpr auto posix_fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

int export_pool(CUmemoryPool pool) {
    int fd = -1;
    REQUIRE(d.cuMemPoolExportToShareableHandle(&fd, pool, posix_fd, 0) == good);
    return fd;
}

void *as_os_handle(int fd) {
    return reinterpret_cast<void *>(static_cast<std::intptr_t>(fd));
}

CUresult try_import(int fd, unsigned int type = posix_fd, unsigned long long flags = 0) {
    CUmemoryPool pool = nullptr;
    return d.cuMemPoolImportFromShareableHandle(
        &pool, as_os_handle(fd), static_cast<CUmemAllocationHandleType>(type), flags);
}

CUmemoryPool import_pool(int fd) {
    CUmemoryPool pool = nullptr;
    REQUIRE(d.cuMemPoolImportFromShareableHandle(&pool, as_os_handle(fd), posix_fd, 0) == good);
    return pool;
}

CUmemPoolPtrExportData export_pointer(CUdeviceptr address) {
    CUmemPoolPtrExportData data;
    REQUIRE(d.cuMemPoolExportPointer(&data, address) == good);
    return data;
}

CUdeviceptr import_pointer(CUmemoryPool pool, CUmemPoolPtrExportData data) {
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemPoolImportPointer(&address, pool, &data) == good);
    return address;
}

} // namespace

TEST_CASE("an exportable pool works like any other", "[pool]") {
    start(GENERATE(from_range(all_modes())));
    const auto pool = create_pool(on_device(0, posix_fd));
    const auto before = free_memory();
    std::vector<CUdeviceptr> all;
    for (std::uint32_t i = 0; i != 40; ++i) {
        all.push_back(allocate(pool, 1000 * (i + 1)));
        REQUIRE(d.cuMemsetD32Async(all.back(), i, 250, nullptr) == good);
    }
    for (std::uint32_t i = 0; i != 40; ++i) {
        CHECK(read(all[i]) == i);
        CHECK(read(all[i] + 996) == i);
        free_async(all[i]);
    }
    synchronize();
    CHECK(free_memory() == before);
    free_async(allocate(pool, 32 * MiB));
    synchronize();
    destroy(pool);
}

TEST_CASE("a pool is exported and imported, and its memory seen", "[pool]") {
    start();
    const auto before = open_descriptors();
    const auto pool = create_pool(on_device(0, posix_fd));
    const auto address = allocate(pool, 4000), second = allocate(pool, 100);
    write(address, 0x77);
    write(second, 0x88);
    const int fd = export_pool(pool);
    const auto imported = import_pool(fd);
    CHECK(is_open(fd));
    close(fd);
    CHECK(imported != pool);
    const auto data = export_pointer(address);
    const auto again = export_pointer(address);
    CHECK(std::memcmp(&data, &again, sizeof data) == 0);
    const auto seen = import_pointer(imported, data);
    const auto seen_second = import_pointer(imported, export_pointer(second));
    CHECK(seen != address);
    CHECK(read(seen) == 0x77);
    CHECK(read(seen_second) == 0x88);
    write(seen + 3996, 0x99);
    CHECK(read(address + 3996) == 0x99);
    const std::uint32_t value = 0;
    CHECK(d.cuMemcpyHtoD(seen + 3998, &value, 4) == invalid); // its size came along
    free_async(seen);
    CHECK(d.cuMemFree(seen_second) == good);
    synchronize();
    free_async(address);
    free_async(second);
    synchronize();
    destroy(imported);
    destroy(pool);
    CHECK(open_descriptors() == before);
}

TEST_CASE("an imported pool gives nothing of its own", "[pool]") {
    start();
    const auto pool = create_pool(on_device(0, posix_fd));
    const int fd = export_pool(pool);
    const auto imported = import_pool(fd);
    close(fd);
    CUdeviceptr address = 0;
    int other = -1;
    CHECK(d.cuMemAllocFromPoolAsync(&address, 16, imported, nullptr) == invalid);
    CHECK(d.cuDeviceSetMemPool(0, imported) == invalid);
    CHECK(set_bytes(imported, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0) == invalid);
    CHECK(d.cuMemPoolExportToShareableHandle(&other, imported, posix_fd, 0) == invalid);
    destroy(imported);
    destroy(pool);
}

TEST_CASE("what of pools exports, and how", "[pool]") {
    start();
    const auto closed = create_pool(), open = create_pool(on_device(0, posix_fd));
    int fd = -1;
    CHECK(d.cuMemPoolExportToShareableHandle(&fd, closed, posix_fd, 0) == invalid);
    CHECK(d.cuMemPoolExportToShareableHandle(&fd, default_pool(), posix_fd, 0) == invalid);
    CHECK(d.cuMemPoolExportToShareableHandle(&fd, open, posix_fd, 1) == invalid);
    CHECK(d.cuMemPoolExportToShareableHandle(&fd, open, CU_MEM_HANDLE_TYPE_NONE, 0) == invalid);
    CHECK(d.cuMemPoolExportToShareableHandle(&fd, open, static_cast<CUmemAllocationHandleType>(8),
                                             0) == invalid);
    CHECK(d.cuMemPoolExportToShareableHandle(nullptr, open, posix_fd, 0) == invalid);
    CHECK(d.cuMemPoolExportToShareableHandle(&fd, nullptr, posix_fd, 0) == invalid);

    CUmemPoolPtrExportData data;
    const auto address = allocate(closed, 16);
    CHECK(d.cuMemPoolExportPointer(&data, address) == invalid);
    CUdeviceptr plain = 0;
    REQUIRE(d.cuMemAlloc(&plain, 16) == good);
    CHECK(d.cuMemPoolExportPointer(&data, plain) == invalid);
    CHECK(d.cuMemPoolExportPointer(&data, 0) == invalid);
    const auto exported = allocate(open, 4096);
    CHECK(d.cuMemPoolExportPointer(nullptr, exported) == invalid);
    CHECK(d.cuMemPoolExportPointer(&data, exported + 16) == invalid);
    REQUIRE(d.cuMemFree(plain) == good);
    free_async(address);
    free_async(exported);
    synchronize();
    CHECK(d.cuMemPoolExportPointer(&data, exported) == invalid);
    expect_misuse("export of memory that was freed");
    destroy(closed);
    destroy(open);
}

TEST_CASE("descriptors of other things are no pools", "[pool]") {
    start();
    const auto before = open_descriptors();
    const int null = open("/dev/null", O_RDWR);
    CHECK(try_import(null) == CUDA_ERROR_UNKNOWN);
    CHECK(is_open(null));
    close(null);
    CHECK(try_import(-1) == CUDA_ERROR_UNKNOWN);
    // Physical memory of virtual memory management is something else, too, and the other way round.
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = grant(0).location;
    properties.requestedHandleTypes = posix_fd;
    CUmemGenericAllocationHandle memory = 0;
    REQUIRE(d.cuMemCreate(&memory, 2 * MiB, &properties, 0) == good);
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, memory, posix_fd, 0) == good);
    CHECK(try_import(fd) == CUDA_ERROR_UNKNOWN);
    close(fd);
    REQUIRE(d.cuMemRelease(memory) == good);

    const auto pool = create_pool(on_device(0, posix_fd));
    fd = export_pool(pool);
    CHECK(d.cuMemImportFromShareableHandle(&memory, as_os_handle(fd), posix_fd) ==
          CUDA_ERROR_UNKNOWN);
    CHECK(try_import(fd, posix_fd, 1) == invalid);
    CHECK(try_import(fd, 0) == invalid);
    CHECK(try_import(fd, 8) == CUDA_ERROR_NOT_PERMITTED);
    CHECK(d.cuMemPoolImportFromShareableHandle(nullptr, as_os_handle(fd), posix_fd, 0) == invalid);
    close(fd);
    destroy(pool);
    CHECK(open_descriptors() == before);
}

TEST_CASE("pointer data that lies is refused", "[pool]") {
    start();
    const auto pool = create_pool(on_device(0, posix_fd)),
               other = create_pool(on_device(0, posix_fd));
    const auto address = allocate(pool, 4096);
    const int fd = export_pool(pool), other_fd = export_pool(other);
    const auto imported = import_pool(fd), foreign = import_pool(other_fd);
    close(fd);
    close(other_fd);
    const auto honest = export_pointer(address);
    CUdeviceptr out = 0;

    CUmemPoolPtrExportData data{};
    CHECK(d.cuMemPoolImportPointer(&out, imported, &data) == invalid); // zeros
    CHECK(out == 0xbdbdbdbdbdbdbdbd);
    std::memset(&data, 0xff, sizeof data);
    CHECK(d.cuMemPoolImportPointer(&out, imported, &data) == invalid);
    for (std::size_t byte = 0; byte != 44; ++byte) { // all that it carries, but for a smaller size
        data = honest;
        data.reserved[byte] = static_cast<unsigned char>(data.reserved[byte] ^ 0xff);
        const auto status = d.cuMemPoolImportPointer(&out, imported, &data);
        if (status == good) {
            CHECK(d.cuMemFree(out) == good); // a place in the pool that is there
        } else {
            CHECK(status == invalid);
        }
    }
    data = honest;
    CHECK(d.cuMemPoolImportPointer(&out, foreign, &data) == invalid);
    CHECK(d.cuMemPoolImportPointer(&out, pool, &data) == invalid); // the exporter itself
    CHECK(d.cuMemPoolImportPointer(&out, nullptr, &data) == invalid);
    CHECK(d.cuMemPoolImportPointer(nullptr, imported, &data) == invalid);
    CHECK(d.cuMemPoolImportPointer(&out, imported, nullptr) == invalid);
    free_async(address);
    synchronize();
    CHECK(d.cuMemPoolImportPointer(&out, imported, &data) == invalid); // freed meanwhile
    destroy(imported);
    destroy(foreign);
    destroy(pool);
    destroy(other);
}

TEST_CASE("the exporter frees last", "[pool]") {
    start();
    const auto pool = create_pool(on_device(0, posix_fd));
    const auto address = allocate(pool, 4096);
    const int fd = export_pool(pool);
    const auto imported = import_pool(fd);
    close(fd);
    const auto seen = import_pointer(imported, export_pointer(address));
    CHECK(d.cuMemFree(address) == good);
    expect_misuse("imported 1 times in other processes");
    CHECK(d.cuMemFree(seen) == good);
    destroy(imported);
    destroy(pool);
}

TEST_CASE("child: imports a pool", "[.][pool]") {
    Channel parent = Channel::of_parent();
    start();
    const auto before = open_descriptors();
    const int fd = parent.receive_fd();
    const auto pool = import_pool(fd);
    close(fd);
    for (int round = 0; round != 2; ++round) {
        const auto address = import_pointer(pool, parent.receive<CUmemPoolPtrExportData>());
        CHECK(read(address) == 0x1000u + static_cast<unsigned int>(round));
        write(address + 4096, 0x2000u + static_cast<unsigned int>(round));
        CHECK(d.cuMemFreeAsync(address, nullptr) == good);
        synchronize();
        parent.signal();
    }
    destroy(pool);
    CHECK(open_descriptors() == before);
}

TEST_CASE("two processes share a pool", "[pool]") {
    start();
    const auto pool = create_pool(on_device(0, posix_fd));
    Child child("child: imports a pool");
    const int fd = export_pool(pool);
    child.channel().send_fd(fd);
    close(fd);
    for (unsigned int round = 0; round != 2; ++round) {
        // The second allocation is made after the pool was shared.
        const auto address = allocate(pool, 8192);
        write(address, 0x1000 + round);
        synchronize();
        child.channel().send(export_pointer(address));
        child.channel().await();
        CHECK(read(address + 4096) == 0x2000 + round);
        free_async(address);
        synchronize();
    }
    CHECK(child.passed());
    destroy(pool);
}
#endif
