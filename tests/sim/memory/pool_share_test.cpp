// Memory pools that are exported to and imported from other processes.
#include "../support/child_process.hpp"
#include "pool_tools.hpp"

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>

using namespace sim_test;

namespace {

struct ExportablePool : Pool {
    ExportablePool() : Pool(pool_properties(0, posix_fd)) {}
};

int export_pool(CUmemoryPool pool) {
    return got<int>(&Driver::cuMemPoolExportToShareableHandle, out, pool, posix_fd, 0);
}

CUresult try_import(int fd, unsigned int type = posix_fd, unsigned long long flags = 0) {
    CUmemoryPool pool = nullptr;
    return driver().cuMemPoolImportFromShareableHandle(
        &pool, as_os_handle(fd), static_cast<CUmemAllocationHandleType>(type), flags);
}

CUmemoryPool import_pool(int fd) {
    return got<CUmemoryPool>(&Driver::cuMemPoolImportFromShareableHandle, out, as_os_handle(fd),
                             posix_fd, 0);
}

// The same pool as seen by another process.
struct ImportedPool : Owned<CUmemoryPool, destroy> {
    explicit ImportedPool(int fd) : Owned(import_pool(fd)) { close(fd); }
    explicit ImportedPool(const Pool &pool) : ImportedPool(export_pool(pool)) {}
};

CUmemPoolPtrExportData export_pointer(CUdeviceptr address) {
    return got<CUmemPoolPtrExportData>(&Driver::cuMemPoolExportPointer, out, address);
}

CUdeviceptr import_pointer(CUmemoryPool pool, CUmemPoolPtrExportData data) {
    return got<CUdeviceptr>(&Driver::cuMemPoolImportPointer, out, pool, &data);
}

} // namespace

TEST_CASE("an exportable pool allocates and frees like any other") {
    start(GENERATE(from_range(all_modes())));
    const ExportablePool pool;
    const auto before = free_memory();
    std::vector<CUdeviceptr> all;
    for (std::uint32_t i = 0; i != 40; ++i) {
        all.push_back(allocate(pool, 1000 * (i + 1)));
        require_ok(driver().cuMemsetD32Async(all.back(), i, 250, nullptr));
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

TEST_CASE("memory of an imported pool is shared with the exporter") {
    const auto before = open_descriptors();
    {
        const ExportablePool pool;
        const PoolMemory memory(4000, pool), second(100, pool);
        write(memory, 0x77);
        write(second, 0x88);
        const int fd = export_pool(pool);
        const auto imported = import_pool(fd);
        CHECK(is_open(fd));
        close(fd);
        CHECK(imported != pool);
        const auto data = export_pointer(memory), again = export_pointer(memory);
        CHECK(std::memcmp(&data, &again, sizeof data) == 0);
        const auto seen = import_pointer(imported, data);
        const auto seen_second = import_pointer(imported, export_pointer(second));
        CHECK(seen != memory);
        CHECK(read(seen) == 0x77);
        CHECK(read(seen_second) == 0x88);
        write(seen + 3996, 0x99);
        CHECK(read(memory + 3996) == 0x99);
        CHECK(try_write(seen + 3998) == invalid); // the import knows the size
        free_async(seen);
        ok(driver().cuMemFree(seen_second));
        synchronize_stream();
        destroy(imported);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("an imported pool can be neither set as current nor exported") {
    const ExportablePool pool;
    const ImportedPool imported(pool);
    int fd = -1;
    CHECK(driver().cuDeviceSetMemPool(0, imported) == invalid);
    CHECK(driver().cuMemPoolExportToShareableHandle(&fd, imported, posix_fd, 0) == invalid);
}

TEST_CASE(
    "only memory of an exported pool can be exported, by its first address, until it is freed") {
    const Pool closed;
    const ExportablePool open;
    const PoolMemory of_closed(16, closed);
    const DeviceMemory plain(16);
    const auto exported = allocate(open, 4096);
    CUmemPoolPtrExportData data;
    const Calls exports(&Driver::cuMemPoolExportPointer);
    exports[invalid] = {
        {&data, of_closed}, {&data, plain}, {&data, exported} /* its pool is not exported yet */};
    close(export_pool(open));
    exports[CUDA_SUCCESS] = {{&data, exported}};
    exports[invalid] = {{&data, exported + 16}};
    int fd = -1;
    CHECK(driver().cuMemPoolExportToShareableHandle(&fd, open, CU_MEM_HANDLE_TYPE_NONE, 0) ==
          invalid);
    check_all(invalid, {driver().cuMemPoolExportPointer(nullptr, exported),
                        driver().cuMemPoolExportToShareableHandle(nullptr, open, posix_fd, 0)});
    free_async(exported);
    synchronize_stream();
    CHECK(reported(driver().cuMemPoolExportPointer(&data, exported),
                   "export of memory that was freed") == invalid);
}

TEST_CASE("a pool is not imported as physical memory, nor the other way round") {
    const PhysicalMemory memory(G, exportable());
    const ExportablePool pool;
    const int of_memory = export_fd(memory), of_pool = export_pool(pool);
    CUmemGenericAllocationHandle handle = 0;
    CHECK(try_import(of_memory) == CUDA_ERROR_UNKNOWN);
    CHECK(driver().cuMemImportFromShareableHandle(&handle, as_os_handle(of_pool), posix_fd) ==
          CUDA_ERROR_UNKNOWN);
    CHECK(try_import(-1) == CUDA_ERROR_UNKNOWN);
    check_all(
        invalid,
        {driver().cuMemPoolImportFromShareableHandle(nullptr, as_os_handle(of_pool), posix_fd, 0),
         driver().cuMemImportFromShareableHandle(nullptr, as_os_handle(of_memory), posix_fd)});
    CHECK(try_import(of_pool, posix_fd, 1) == invalid);
    CHECK(try_import(of_pool, 0) == invalid);
    CHECK(try_import(of_pool, 8) == CUDA_ERROR_NOT_PERMITTED);
    CHECK((is_open(of_memory) && is_open(of_pool)));
    close(of_memory);
    close(of_pool);
}

TEST_CASE("invalid pointer export data is rejected") {
    const ExportablePool pool, other;
    const auto address = allocate(pool, 4096);
    const ImportedPool imported(pool), foreign(other);
    const auto honest = export_pointer(address);
    CUdeviceptr result = 0;
    CUmemPoolPtrExportData data{};
    CHECK(driver().cuMemPoolImportPointer(&result, imported, &data) == invalid); // all zeros
    CHECK(result == 0xbdbdbdbdbdbdbdbd);
    std::memset(&data, 0xff, sizeof data);
    CHECK(driver().cuMemPoolImportPointer(&result, imported, &data) == invalid);
    for (std::size_t byte = 0; byte != 44;
         ++byte) { // all that it carries, except for a smaller size
        data = honest;
        data.reserved[byte] = static_cast<unsigned char>(data.reserved[byte] ^ 0xff);
        const auto status = driver().cuMemPoolImportPointer(&result, imported, &data);
        if (status == CUDA_SUCCESS) {
            ok(driver().cuMemFree(result)); // names another valid place in the pool
        } else {
            CHECK(status == invalid);
        }
    }
    data = honest;
    const Calls import(&Driver::cuMemPoolImportPointer);
    import[invalid] = {{&result, foreign, &data},
                       {nullptr, imported, &data},
                       {&result, pool, &data}, // an exporter cannot import
                       {&result, imported, nullptr}};
    free_async(address);
    synchronize_stream();
    import[invalid] = {{&result, imported, &data}}; // already freed
}

TEST_CASE("freeing pool memory before its importers do is a misuse") {
    const ExportablePool pool;
    const auto address = allocate(pool, 4096);
    const ImportedPool imported(pool);
    const auto seen = import_pointer(imported, export_pointer(address));
    ok(reported(driver().cuMemFree(address), "imported 1 time in other processes"));
    ok(driver().cuMemFree(seen));
}

TEST_CASE("child: imports a pool", "[.][pool]") {
    Channel parent = Channel::of_parent();
    start();
    const auto before = open_descriptors();
    {
        const ImportedPool pool(parent.receive_fd());
        for (unsigned int round = 0; round != 2; ++round) {
            const auto address = import_pointer(pool, parent.receive<CUmemPoolPtrExportData>());
            CHECK(read(address) == 0x1000 + round);
            write(address + 4096, 0x2000 + round);
            ok(driver().cuMemFreeAsync(address, nullptr));
            synchronize_stream();
            parent.signal();
        }
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("two processes share memory of a pool") {
    const ExportablePool pool;
    Child child("child: imports a pool");
    const int fd = export_pool(pool);
    child.channel().send_fd(fd);
    close(fd);
    for (unsigned int round = 0; round != 2; ++round) {
        // The second allocation follows the sharing of the pool.
        const PoolMemory memory(8192, pool);
        write(memory, 0x1000 + round);
        synchronize_stream();
        child.channel().send(export_pointer(memory));
        child.channel().await();
        CHECK(read(memory + 4096) == 0x2000 + round);
    }
    CHECK(child.passed());
}
#endif
