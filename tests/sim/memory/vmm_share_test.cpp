// Physical memory that is shared as a file descriptor.
#ifndef _WIN32

#include "../support/child_process.hpp"
#include "vmm_ranges.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sim_test;

namespace {

constexpr auto unknown = CUDA_ERROR_UNKNOWN;

CUresult try_import(int fd, int type = posix_fd) {
    CUmemGenericAllocationHandle memory = 0;
    return driver().cuMemImportFromShareableHandle(&memory, as_os_handle(fd),
                                                   static_cast<CUmemAllocationHandleType>(type));
}

// A descriptor of memory whose handle is released.
int exported_fd(CUmemGenericAllocationHandle memory) {
    const int fd = export_fd(memory);
    release_physical(memory);
    return fd;
}

void send(Child &child, const Mapped &memory) {
    const int fd = export_fd(memory.handle);
    child.channel().send_fd(fd);
    close(fd);
}

} // namespace

TEST_CASE("an import leaves the descriptor open and shares the memory under another handle") {
    const auto before = open_descriptors();
    int fd = -1;
    {
        const Mapped memory(2 * G, exportable());
        write(memory.address + G, 0x1111);
        fd = export_fd(memory.handle);
        close(export_fd(memory.handle)); // another descriptor
        const Mapped imported(2 * G, import_fd(fd));
        release_physical(import_fd(fd)); // another handle
        CHECK(is_open(fd));
        CHECK(imported.handle != memory.handle);
        CHECK(read(imported.address + G) == 0x1111);
        write(imported.address, 0x2222);
        CHECK(read(memory.address) == 0x2222);
    }
    {
        const Mapped later(2 * G, import_fd(fd)); // the descriptor keeps the memory alive
        close(fd);                                // the import keeps the memory alive
        CHECK(read(later.address) == 0x2222);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("imported memory does not count against the budget and keeps its properties") {
    start("devices=2;budget=4MiB");
    const PhysicalMemory memory(2 * G, exportable(1));
    const int fd = export_fd(memory);
    const auto imported = import_fd(fd);
    close(fd);
    const auto properties =
        got<CUmemAllocationProp>(&Driver::cuMemGetAllocationPropertiesFromHandle, out, imported);
    CHECK(properties.type == CU_MEM_ALLOCATION_TYPE_PINNED);
    CHECK(properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK(properties.location.id == 1);
    const int again = exported_fd(imported); // an import can be exported
    release_physical(import_fd(again));
    close(again);
}

TEST_CASE("memory is exported only as a descriptor, exporting destroyed memory is reported") {
    const auto memory = create_memory(G, exportable());
    int fd = -1;
    CHECK(driver().cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_WIN32, 0) ==
          invalid);
    release_physical(memory);
    CHECK(reported(driver().cuMemExportToShareableHandle(&fd, memory, posix_fd, 0),
                   "use of a destroyed physical memory") == invalid);
}

TEST_CASE("importing a descriptor that is not memory fails and leaves it open") {
    const auto before = open_descriptors();
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const int file = memfd_create("of another size", MFD_CLOEXEC);
    REQUIRE(ftruncate(file, static_cast<off_t>(G + 4096)) == 0);
    for (const int fd : {open("/proc/self/exe", O_RDONLY), memfd_create("empty", MFD_CLOEXEC), file,
                         ends[0], ends[1]}) {
        CHECK(try_import(fd) == unknown);
        CHECK(is_open(fd));
        close(fd);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("no holder of exported memory can change its size") {
    const int fd = exported_fd(create_memory(G, exportable()));
    CHECK(ftruncate(fd, 0) == -1);
    CHECK(ftruncate(fd, static_cast<off_t>(2 * G)) == -1);
    CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == -1);
    close(fd);
}

TEST_CASE("importing a copy of exported memory whose size can change fails") {
    const int fd = exported_fd(create_memory(G, exportable()));
    struct stat status {};
    REQUIRE(fstat(fd, &status) == 0);
    const int copy = memfd_create("copy", MFD_CLOEXEC);
    REQUIRE(ftruncate(copy, status.st_size) == 0);
    off_t from = 0;
    REQUIRE(sendfile(copy, fd, &from, static_cast<std::size_t>(status.st_size)) == status.st_size);
    CHECK(try_import(copy) == unknown);
    close(copy);
    close(fd);
}

TEST_CASE("importing a descriptor with changed metadata fails") {
    const int fd = exported_fd(create_memory(G, exportable()));
    struct stat status {};
    REQUIRE(fstat(fd, &status) == 0);
    REQUIRE(status.st_size > static_cast<off_t>(G));
    const std::size_t extra = static_cast<std::size_t>(status.st_size) - G;
    auto *bytes = static_cast<unsigned char *>(
        mmap(nullptr, extra, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(G)));
    REQUIRE(bytes != MAP_FAILED);
    for (std::size_t i = 0; i != 20; ++i) { // magic, size, device
        bytes[i] = static_cast<unsigned char>(~bytes[i]);
        const auto imported = try_import(fd);
        CHECK((imported == unknown || imported == CUDA_ERROR_NOT_SUPPORTED));
        bytes[i] = static_cast<unsigned char>(~bytes[i]);
    }
    release_physical(import_fd(fd));
    munmap(bytes, extra);
    close(fd);
}

TEST_CASE("an import needs a valid type, and the device of the memory") {
    start("devices=2");
    const int fd = exported_fd(create_memory(G, exportable(1)));
    for (const int type : {0, 0x10, 3}) {
        CHECK(try_import(fd, type) == invalid);
    }
    CHECK(try_import(fd, 2) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(try_import(fd, 8) == CUDA_ERROR_NOT_PERMITTED);
    start("devices=1");
    CHECK(try_import(fd) == CUDA_ERROR_NOT_SUPPORTED);
    close(fd);
}

TEST_CASE("cuMemGetHandleForAddressRange returns a descriptor of the size of the range") {
    start("attribute.124=1");
    const auto before = open_descriptors();
    {
        const PhysicalMemory first(G, on_device()), second(G, on_device());
        const Reservation address(4 * G);
        map(address, G, first);
        map(address + G, G, second);
        const DeviceMemory plain(2 * G);
        constexpr auto dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
        const Calls get(&Driver::cuMemGetHandleForAddressRange);
        int fd = -1;
        for (const CUdeviceptr begin : {address + 0, plain + 0}) {
            require_ok(driver().cuMemGetHandleForAddressRange(&fd, begin + 4096, 2 * G - 4096,
                                                              dma_buf, 0));
            CHECK(lseek(fd, 0, SEEK_END) == static_cast<off_t>(2 * G - 4096));
            close(fd);
            fd = -1;
            get[invalid] = {{&fd, begin + 1, 4096, dma_buf, 0},
                            {&fd, begin, 3 * G, dma_buf, 0},
                            {&fd, begin, G, static_cast<CUmemRangeHandleType>(2), 0},
                            {nullptr, begin, G, dma_buf, 0}};
            CHECK(fd == -1);
        }
        configure("attribute.124=0");
        get[CUDA_ERROR_NOT_SUPPORTED] = {{&fd, plain, G, dma_buf, 0}};
    }
    CHECK(open_descriptors() <= before + 1); // plus the file of the heap
}

TEST_CASE("child: imports and writes", "[.][vmm_share]") {
    Channel parent = Channel::of_parent();
    start();
    const auto before = open_descriptors();
    const int fd = parent.receive_fd();
    {
        Mapped memory(2 * G, import_fd(fd));
        CHECK(is_open(fd));
        CHECK(read(memory.address) == 0xc0ffee);
        write(memory.address + 2 * G - 4, 0xdecaf);
        parent.signal();
        parent.await();
        CHECK(read(memory.address) == 0xc0ffef);
    }
    close(fd);
    CHECK(open_descriptors() == before);
    parent.signal();
}

TEST_CASE("two processes share physical memory") {
    const Mapped memory(2 * G, exportable());
    write(memory.address, 0xc0ffee);
    Child child("child: imports and writes");
    send(child, memory);
    child.channel().await();
    CHECK(read(memory.address + 2 * G - 4) == 0xdecaf);
    SECTION("each process sees what the other writes") {
        write(memory.address, 0xc0ffef);
        child.channel().signal();
        child.channel().await();
        CHECK(child.passed());
    }
    SECTION("the memory outlives a process that was killed") {
        child.kill();
        CHECK(read(memory.address + 2 * G - 4) == 0xdecaf);
    }
}

TEST_CASE("child: creates and ends", "[.][vmm_share]") {
    Channel parent = Channel::of_parent();
    start();
    const Mapped memory(G, exportable());
    write(memory.address + 8, 0x5151);
    const int fd = export_fd(memory.handle);
    parent.send_fd(fd);
    close(fd);
}

TEST_CASE("memory outlives the process that created it") {
    Child child("child: creates and ends");
    const int fd = child.channel().receive_fd();
    CHECK(child.passed());
    Mapped memory(G, import_fd(fd));
    close(fd);
    CHECK(read(memory.address + 8) == 0x5151);
}

#endif
