// Physical memory that leaves the process as a file descriptor.
#ifndef _WIN32

#include "../support/child_process.hpp"
#include "vmm_tools.hpp"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sim_test;

namespace {
constexpr std::size_t G = default_granularity;
constexpr auto posix_fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

CUmemAllocationProp exportable(int ordinal = 0) {
    return on_device(ordinal, posix_fd);
}

int export_fd(CUmemGenericAllocationHandle memory) {
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, memory, posix_fd, 0) == good);
    return fd;
}

void *as_os_handle(int fd) {
    return reinterpret_cast<void *>(static_cast<std::intptr_t>(fd));
}

CUmemGenericAllocationHandle import_fd(int fd) {
    CUmemGenericAllocationHandle memory = 0;
    REQUIRE(d.cuMemImportFromShareableHandle(&memory, as_os_handle(fd), posix_fd) == good);
    return memory;
}

CUresult try_import(int fd, int type = posix_fd) {
    CUmemGenericAllocationHandle memory = 0;
    return d.cuMemImportFromShareableHandle(&memory, as_os_handle(fd),
                                            static_cast<CUmemAllocationHandleType>(type));
}

} // namespace

TEST_CASE("an import leaves the descriptor open, gives another handle, shows the same bytes") {
    start();
    const auto before = open_descriptors();
    {
        Mapped memory(2 * G, exportable());
        write(memory.address + G, 0x1111);
        const int fd = export_fd(memory.handle);
        Mapped imported(2 * G, import_fd(fd));
        CHECK(is_open(fd));
        CHECK(imported.handle != memory.handle);
        CHECK(read(imported.address + G) == 0x1111);
        write(imported.address, 0x2222);
        CHECK(read(memory.address) == 0x2222);
        close(fd);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("every export is a descriptor of its own") {
    start();
    Mapped memory(G, exportable());
    const int first = export_fd(memory.handle), second = export_fd(memory.handle);
    CHECK(first != second);
    CHECK((fcntl(first, F_GETFD) & FD_CLOEXEC) != 0);
    close(first);
    const auto imported = import_fd(second);
    close(second);
    release_physical(imported);
}

TEST_CASE("one descriptor imports twice, into handles that are released each for itself") {
    start();
    Mapped memory(G, exportable());
    const int fd = export_fd(memory.handle);
    const auto first = import_fd(fd), second = import_fd(fd);
    CHECK(first != second);
    close(fd);
    release_physical(first);
    Mapped still(G, second);
    write(memory.address, 3);
    CHECK(read(still.address) == 3);
}

TEST_CASE("memory lives on in a descriptor, and in what was imported from it") {
    start();
    int fd = -1;
    {
        Mapped memory(G, exportable());
        write(memory.address, 0xabcd);
        fd = export_fd(memory.handle);
    }
    Mapped imported(G, import_fd(fd));
    close(fd); // before it is used
    CHECK(read(imported.address) == 0xabcd);
}

TEST_CASE("imported memory is not counted against the budget, and has its properties") {
    start("devices=2;budget=4MiB");
    const PhysicalMemory memory(2 * G, exportable(1));
    const int fd = export_fd(memory);
    const auto imported = import_fd(fd);
    CUmemAllocationProp properties{};
    CHECK(d.cuMemGetAllocationPropertiesFromHandle(&properties, imported) == good);
    CHECK(properties.type == CU_MEM_ALLOCATION_TYPE_PINNED);
    CHECK(properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK(properties.location.id == 1);
    const int again = export_fd(imported); // an import exports, too
    release_physical(import_fd(again));
    close(again);
    close(fd);
    release_physical(imported);
}

TEST_CASE("what exports, and how") {
    start();
    const PhysicalMemory closed(G, on_device());
    const auto open = create_memory(G, exportable());
    int fd = -1;
    CHECK(d.cuMemExportToShareableHandle(&fd, closed, posix_fd, 0) == invalid);
    CHECK(d.cuMemExportToShareableHandle(&fd, open, posix_fd, 1) == invalid);
    CHECK(d.cuMemExportToShareableHandle(nullptr, open, posix_fd, 0) == invalid);
    CHECK(d.cuMemExportToShareableHandle(&fd, 0, posix_fd, 0) == invalid);
    for (const int type : {0, 2, 4, 8, 9, 3, 0x100, -1}) {
        CHECK(d.cuMemExportToShareableHandle(
                  &fd, open, static_cast<CUmemAllocationHandleType>(type), 0) == invalid);
    }
    CHECK(fd == -1);
    release_physical(open);
    CHECK(d.cuMemExportToShareableHandle(&fd, open, posix_fd, 0) == invalid);
    expect_misuse("use of a destroyed physical memory");
}

TEST_CASE("descriptors of other things are refused and stay open") {
    start();
    const auto before = open_descriptors();
    const int null = open("/dev/null", O_RDWR);
    CHECK(try_import(null) == CUDA_ERROR_UNKNOWN);
    CHECK(is_open(null));
    close(null);
    CHECK(try_import(-1) == CUDA_ERROR_UNKNOWN);
    CHECK(try_import(12345) == CUDA_ERROR_UNKNOWN);

    const int empty = memfd_create("empty", MFD_CLOEXEC);
    CHECK(try_import(empty) == CUDA_ERROR_UNKNOWN);
    REQUIRE(ftruncate(empty, static_cast<off_t>(G + 4096)) == 0);
    CHECK(try_import(empty) == CUDA_ERROR_UNKNOWN);
    close(empty);

    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK(try_import(ends[0]) == CUDA_ERROR_UNKNOWN);
    close(ends[0]);
    close(ends[1]);

    const int text = open("/proc/self/exe", O_RDONLY);
    CHECK(try_import(text) == CUDA_ERROR_UNKNOWN);
    close(text);
    CHECK(open_descriptors() == before);
}

TEST_CASE("descriptors whose bytes lie are refused") {
    start();
    const PhysicalMemory memory(G, exportable());
    const int fd = export_fd(memory);
    struct stat status {};
    REQUIRE(fstat(fd, &status) == 0);
    REQUIRE(status.st_size > static_cast<off_t>(G));
    const std::size_t extra = static_cast<std::size_t>(status.st_size) - G;
    auto *bytes = static_cast<unsigned char *>(
        mmap(nullptr, extra, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(G)));
    REQUIRE(bytes != MAP_FAILED);
    std::vector<unsigned char> honest(bytes, bytes + 32);
    for (std::size_t i = 0; i != 20; ++i) { // magic, size, device
        bytes[i] = static_cast<unsigned char>(~honest[i]);
        const auto status_of_import = try_import(fd);
        CHECK((status_of_import == CUDA_ERROR_UNKNOWN ||
               status_of_import == CUDA_ERROR_NOT_SUPPORTED));
        bytes[i] = honest[i];
    }
    release_physical(import_fd(fd));
    munmap(bytes, extra);
    close(fd);
}

TEST_CASE("import: arguments") {
    start();
    const PhysicalMemory memory(G, exportable());
    const int fd = export_fd(memory);
    CHECK(d.cuMemImportFromShareableHandle(nullptr, as_os_handle(fd), posix_fd) == invalid);
    CHECK(try_import(fd, 0) == invalid);
    CHECK(try_import(fd, 0x10) == invalid);
    CHECK(try_import(fd, 3) == invalid);
    CHECK(try_import(fd, 2) == invalid);
    CHECK(try_import(fd, 8) == CUDA_ERROR_NOT_PERMITTED);
    CUmemGenericAllocationHandle handle = 0;
    CHECK(d.cuMemImportFromShareableHandle(&handle, as_os_handle(-1), posix_fd) != good);
    CHECK(handle == 0xbdbdbdbdbdbdbdbd);
    close(fd);
}

TEST_CASE("a handle of a device that the importer does not have is not supported") {
    start("devices=2");
    const auto memory = create_memory(G, exportable(1));
    const int fd = export_fd(memory);
    start("devices=1");
    CHECK(try_import(fd) == CUDA_ERROR_NOT_SUPPORTED);
    close(fd);
}

TEST_CASE("a range of device memory has a descriptor of its size for other drivers") {
    start("attribute.124=1");
    const auto before = open_descriptors();
    const auto first = create_memory(G, on_device()), second = create_memory(G, on_device());
    const auto address = reserve(4 * G);
    map(address, G, first);
    map(address + G, G, second);
    const CUdeviceptr plain = allocate(2 * G);
    constexpr auto dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    for (const CUdeviceptr begin : {address, plain}) {
        int fd = -1;
        REQUIRE(d.cuMemGetHandleForAddressRange(&fd, begin + 4096, 2 * G - 4096, dma_buf, 0) ==
                good);
        CHECK(lseek(fd, 0, SEEK_END) == static_cast<off_t>(2 * G - 4096));
        close(fd);
        fd = -1;
        CHECK(d.cuMemGetHandleForAddressRange(&fd, begin + 1, 4096, dma_buf, 0) == invalid);
        CHECK(d.cuMemGetHandleForAddressRange(&fd, begin, 1, dma_buf, 0) == invalid);
        CHECK(d.cuMemGetHandleForAddressRange(&fd, begin, 0, dma_buf, 0) == invalid);
        CHECK(d.cuMemGetHandleForAddressRange(&fd, begin, 3 * G, dma_buf, 0) == invalid);
        CHECK(d.cuMemGetHandleForAddressRange(&fd, begin, G, dma_buf, 2) == invalid);
        CHECK(d.cuMemGetHandleForAddressRange(nullptr, begin, G, dma_buf, 0) == invalid);
        CHECK(d.cuMemGetHandleForAddressRange(&fd, begin, G, static_cast<CUmemRangeHandleType>(2),
                                              0) == invalid);
        CHECK(fd == -1);
    }
    configure("attribute.124=0");
    int fd = -1;
    CHECK(d.cuMemGetHandleForAddressRange(&fd, plain, G, dma_buf, 0) == CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(d.cuMemFree(plain) == good);
    unmap(address, 2 * G);
    free_reserved(address, 4 * G);
    release_physical(first);
    release_physical(second);
    CHECK(open_descriptors() <= before + 1); // the heap's file
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

TEST_CASE("two processes see the same memory") {
    start();
    Mapped memory(2 * G, exportable());
    write(memory.address, 0xc0ffee);
    Child child("child: imports and writes");
    const int fd = export_fd(memory.handle);
    child.channel().send_fd(fd);
    close(fd);
    child.channel().await();
    CHECK(read(memory.address + 2 * G - 4) == 0xdecaf);
    write(memory.address, 0xc0ffef);
    child.channel().signal();
    child.channel().await();
    CHECK(child.passed());
}

TEST_CASE("child: creates and ends", "[.][vmm_share]") {
    Channel parent = Channel::of_parent();
    start();
    Mapped memory(G, exportable());
    write(memory.address + 8, 0x5151);
    const int fd = export_fd(memory.handle);
    parent.send_fd(fd);
    close(fd);
}

TEST_CASE("memory outlives the process that created it") {
    start();
    Child child("child: creates and ends");
    const int fd = child.channel().receive_fd();
    CHECK(child.passed());
    Mapped memory(G, import_fd(fd));
    close(fd);
    CHECK(read(memory.address + 8) == 0x5151);
}

TEST_CASE("memory outlives a process that crashed") {
    start();
    Child child("child: imports and writes");
    Mapped memory(2 * G, exportable());
    write(memory.address, 0xc0ffee);
    const int fd = export_fd(memory.handle);
    child.channel().send_fd(fd);
    close(fd);
    child.channel().await();
    child.kill();
    CHECK(read(memory.address + 2 * G - 4) == 0xdecaf);
}

#endif
