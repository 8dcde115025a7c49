// Memory pools that leave their process, and those that came from another.
#include "../support/child_process.hpp"
#include "pool_tools.hpp"

#include <cstring>

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>

using namespace sim_test;

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

TEST_CASE("an exportable pool works like any other") {
    start(GENERATE(from_range(all_modes())));
    const Pool pool(pool_properties(0, posix_fd));
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
    synchronize_stream();
    CHECK(free_memory() == before);
    free_async(allocate(pool, 32 * MiB));
    synchronize_stream();
}

TEST_CASE("a pool is exported and imported, and its memory seen") {
    start();
    const auto before = open_descriptors();
    const auto pool = create_pool(pool_properties(0, posix_fd));
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
    synchronize_stream();
    free_async(address);
    free_async(second);
    synchronize_stream();
    destroy(imported);
    destroy(pool);
    CHECK(open_descriptors() == before);
}

TEST_CASE("an imported pool gives nothing of its own") {
    start();
    const Pool pool(pool_properties(0, posix_fd));
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
}

TEST_CASE("what of pools exports, and how") {
    start();
    const Pool closed, open(pool_properties(0, posix_fd));
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
    const CUdeviceptr plain = allocate(16);
    CHECK(d.cuMemPoolExportPointer(&data, plain) == invalid);
    CHECK(d.cuMemPoolExportPointer(&data, 0) == invalid);
    const auto exported = allocate(open, 4096);
    CHECK(d.cuMemPoolExportPointer(&data, exported) == invalid); // its pool was not yet
    close(export_pool(open));
    CHECK(d.cuMemPoolExportPointer(&data, exported) == good);
    CHECK(d.cuMemPoolExportPointer(nullptr, exported) == invalid);
    CHECK(d.cuMemPoolExportPointer(&data, exported + 16) == invalid);
    REQUIRE(d.cuMemFree(plain) == good);
    free_async(address);
    free_async(exported);
    synchronize_stream();
    CHECK(d.cuMemPoolExportPointer(&data, exported) == invalid);
    expect_misuse("export of memory that was freed");
}

TEST_CASE("descriptors of other things are no pools") {
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

    const auto pool = create_pool(pool_properties(0, posix_fd));
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

TEST_CASE("pointer data that lies is refused") {
    start();
    const Pool pool(pool_properties(0, posix_fd)), other(pool_properties(0, posix_fd));
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
    synchronize_stream();
    CHECK(d.cuMemPoolImportPointer(&out, imported, &data) == invalid); // freed meanwhile
    destroy(imported);
    destroy(foreign);
}

TEST_CASE("the exporter frees last") {
    start();
    const Pool pool(pool_properties(0, posix_fd));
    const auto address = allocate(pool, 4096);
    const int fd = export_pool(pool);
    const auto imported = import_pool(fd);
    close(fd);
    const auto seen = import_pointer(imported, export_pointer(address));
    CHECK(d.cuMemFree(address) == good);
    expect_misuse("imported 1 time in other processes");
    CHECK(d.cuMemFree(seen) == good);
    destroy(imported);
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
        synchronize_stream();
        parent.signal();
    }
    destroy(pool);
    CHECK(open_descriptors() == before);
}

TEST_CASE("two processes share a pool") {
    start();
    const Pool pool(pool_properties(0, posix_fd));
    Child child("child: imports a pool");
    const int fd = export_pool(pool);
    child.channel().send_fd(fd);
    close(fd);
    for (unsigned int round = 0; round != 2; ++round) {
        // The second allocation is made after the pool was shared.
        const auto address = allocate(pool, 8192);
        write(address, 0x1000 + round);
        synchronize_stream();
        child.channel().send(export_pointer(address));
        child.channel().await();
        CHECK(read(address + 4096) == 0x2000 + round);
        free_async(address);
        synchronize_stream();
    }
    CHECK(child.passed());
}
#endif
