// External memory: who owns the descriptor, what can be mapped, what is the same memory.
#include "../support/child_process.hpp"
#include "plan_fault.hpp"

#include <cstring>
#include <limits>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace sim_test;

namespace {

constexpr std::size_t page = 4096;

CUDA_EXTERNAL_MEMORY_HANDLE_DESC opaque(int fd, std::size_t size) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = fd;
    description.size = size;
    return description;
}

CUexternalMemory imported(int fd, std::size_t size) {
    const auto description = opaque(fd, size);
    CUexternalMemory memory = nullptr;
    REQUIRE(d.cuImportExternalMemory(&memory, &description) == good);
    return memory;
}

void end(CUexternalMemory memory) {
    CHECK(d.cuDestroyExternalMemory(memory) == good);
}
struct Imported : Owned<CUexternalMemory, end> {
    Imported(int fd, std::size_t size) : Owned(imported(fd, size)) {}
};

int memory_fd(std::size_t size) {
    const int fd = sim_control().make_memory_fd(size);
    REQUIRE(fd >= 0);
    return fd;
}

CUresult map(CUdeviceptr &address, CUexternalMemory memory, unsigned long long offset,
             unsigned long long size, unsigned int flags = 0) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{.offset = offset, .size = size, .flags = flags};
    return d.cuExternalMemoryGetMappedBuffer(&address, memory, &description);
}

CUdeviceptr mapped(CUexternalMemory memory, unsigned long long offset, unsigned long long size) {
    CUdeviceptr address = 0;
    REQUIRE(map(address, memory, offset, size) == good);
    return address;
}

} // namespace

TEST_CASE("an import takes the descriptor over") {
    start();
    const auto before = open_descriptors();
    const int fd = memory_fd(page);
    const auto memory = imported(fd, page);
    CHECK_FALSE(is_open(fd)); // the number is the client's no longer
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    CHECK(open_descriptors() == before);
}

TEST_CASE("a failed import takes the descriptor, too") {
    start();
    CUexternalMemory memory = nullptr;
    SECTION("of what is no memory") {
        const int fd = open("/dev/null", O_RDWR);
        const auto description = opaque(fd, page);
        CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_UNKNOWN);
        CHECK_FALSE(is_open(fd));
    }
    SECTION("of a pipe") {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        const auto description = opaque(ends[0], page);
        CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_UNKNOWN);
        CHECK_FALSE(is_open(ends[0]));
        CHECK(is_open(ends[1]));
        close(ends[1]);
    }
    SECTION("of a semaphore") {
        const int fd = sim_control().make_semaphore_fd(0);
        const auto description = opaque(fd, 64);
        CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_UNKNOWN);
        CHECK_FALSE(is_open(fd));
    }
}

TEST_CASE("an import may say more than there is, which cannot be mapped") {
    start();
    const int fd = memory_fd(page);
    const Imported memory(fd, 64 * page);
    CHECK_FALSE(is_open(fd));
    CUdeviceptr buffer = 0, beyond = 0;
    CHECK(map(buffer, memory, 0, page) == good);
    CHECK(map(beyond, memory, 0, page + 1) == invalid);
    CHECK(map(beyond, memory, page, page) == invalid);
    CHECK(d.cuMemFree(buffer) == good);
}

TEST_CASE("what is no descriptor cannot be imported") {
    start();
    CUexternalMemory memory = nullptr;
    for (const int fd : {-1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
        const auto description = opaque(fd, page);
        CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_UNKNOWN);
    }
}

TEST_CASE("an import whose arguments are wrong leaves the descriptor alone") {
    start();
    const int fd = memory_fd(page);
    auto description = opaque(fd, page);
    CUexternalMemory memory = nullptr;
    CUresult expected = invalid;
    SECTION("no size") {
        description.size = 0;
    }
    SECTION("unknown flags") {
        description.flags = 2;
    }
    SECTION("reserved words") {
        description.reserved[15] = 1;
    }
    SECTION("no type") {
        description.type = static_cast<CUexternalMemoryHandleType>(0);
    }
    SECTION("an unknown type") {
        description.type = static_cast<CUexternalMemoryHandleType>(99);
    }
    SECTION("types of another system") {
        description.type = static_cast<CUexternalMemoryHandleType>(GENERATE(2, 3, 4, 5, 6, 7));
    }
    SECTION("a type that takes no descriptor") {
        description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF;
        expected = CUDA_ERROR_NOT_SUPPORTED;
    }
    SECTION("DMA buffers") {
        description.type = static_cast<CUexternalMemoryHandleType>(9);
        expected = CUDA_ERROR_NOT_SUPPORTED;
    }
    CHECK(d.cuImportExternalMemory(&memory, &description) == expected);
    CHECK(is_open(fd));
    close(fd);
}

TEST_CASE("an import needs its arguments and a context") {
    start();
    const int fd = memory_fd(page);
    const auto description = opaque(fd, page);
    CUexternalMemory memory = nullptr;
    CHECK(d.cuImportExternalMemory(nullptr, &description) == invalid);
    CHECK(d.cuImportExternalMemory(&memory, nullptr) == invalid);
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(is_open(fd));
    close(fd);
}

TEST_CASE("a dedicated resource imports") {
    start();
    auto description = opaque(memory_fd(page), page);
    description.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
    CHECK(d.cuDestroyExternalMemory(
              got<CUexternalMemory>(&Driver::cuImportExternalMemory, out, &description)) == good);
}

TEST_CASE("a mapped buffer is the other API's memory") {
    start(GENERATE_COPY(from_range(all_modes())));
    const int fd = memory_fd(4 * page);
    auto *theirs = static_cast<unsigned char *>(
        mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    REQUIRE(theirs != MAP_FAILED);
    const auto memory = imported(fd, 4 * page);

    // From inside a page, so that the base of the buffer is not that of a page.
    const auto buffer = mapped(memory, page + 100, 1000);
    CHECK(d.cuMemsetD8(buffer, 7, 1000) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(theirs[page + 99] == 0);
    CHECK(theirs[page + 100] == 7);
    CHECK(theirs[page + 1099] == 7);
    CHECK(theirs[page + 1100] == 0);
    theirs[page + 101] = 9;
    unsigned char read = 0;
    CHECK(got(d.cuMemcpyDtoH(&read, buffer + 1, 1), read) == 9);
    CHECK(d.cuMemcpyDtoH(&read, buffer + 1000, 1) == invalid);

    std::size_t size = 0;
    CHECK(got<CUdeviceptr>(&Driver::cuMemGetAddressRange, out, &size, buffer + 10) == buffer);
    CHECK(size == 1000);

    // Two buffers over the same bytes.
    const auto whole = mapped(memory, 0, 4 * page);
    CHECK(got(d.cuMemcpyDtoH(&read, whole + page + 101, 1), read) == 9);
    CHECK(d.cuMemFree(buffer) == good);
    CHECK(d.cuMemcpyDtoH(&read, whole + page + 101, 1) == good);
    CHECK(d.cuMemFree(whole) == good);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    munmap(theirs, 4 * page);
}

TEST_CASE("a buffer must lie in the memory") {
    start();
    constexpr auto most = std::numeric_limits<unsigned long long>::max();
    const Imported memory(memory_fd(4 * page), 2 * page); // two pages of four
    CUdeviceptr address = 0;
    CHECK(map(address, memory, 0, 0) == invalid);
    CHECK(map(address, memory, 0, 2 * page + 1) == invalid);
    CHECK(map(address, memory, 2 * page, 1) == invalid);
    CHECK(map(address, memory, 1, 2 * page) == invalid);
    CHECK(map(address, memory, most, 2) == invalid);
    CHECK(map(address, memory, 2, most) == invalid);
    CHECK(map(address, memory, most, most) == invalid);
    CHECK(map(address, memory, 0, page, 1) == invalid);
    CHECK(address != 0); // written with what nobody can take for an address

    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{};
    description.size = page;
    CHECK(d.cuExternalMemoryGetMappedBuffer(nullptr, memory, &description) == invalid);
    CHECK(d.cuExternalMemoryGetMappedBuffer(&address, memory, nullptr) == invalid);
    description.reserved[0] = 1;
    CHECK(d.cuExternalMemoryGetMappedBuffer(&address, memory, &description) == invalid);
}

TEST_CASE("an import may be destroyed before its buffer is freed, but not used then") {
    start();
    const auto memory = imported(memory_fd(page), page);
    const auto buffer = mapped(memory, 0, page);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    SECTION("freed") {
        CHECK(d.cuMemFree(buffer) == good);
    }
    SECTION("used, then freed") {
        CHECK(d.cuMemsetD8(buffer, 1, 1) == good);
        expect_misuse("use after cuDestroyExternalMemory");
        sim_control().clear_misuses();
        CHECK(d.cuMemFree(buffer) == good);
    }
}

TEST_CASE("a buffer that nobody freed is a leak, and so is an import") {
    start();
    const Imported memory(memory_fd(page), page);
    const auto buffer = mapped(memory, 0, page);
    const auto lines = leaks();
    CHECK(lines.size() == 2);
    CHECK(d.cuMemFree(buffer) == good);
    CHECK(d.cuMemFree(buffer) == invalid);
    expect_misuse("external memory");
}

TEST_CASE("handles of external memory that are none are refused") {
    start();
    CUdeviceptr address = 0;
    CHECK(d.cuDestroyExternalMemory(nullptr) == invalid);
    CHECK(map(address, nullptr, 0, page) == invalid);
    CUmipmappedArray array = nullptr;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC levels{};
    CHECK(d.cuExternalMemoryGetMappedMipmappedArray(&array, nullptr, &levels) == invalid);
    const auto memory = imported(memory_fd(page), page);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("external memory");
    CHECK(map(address, memory, 0, page) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("external memory");
    const Event event;
    CHECK(d.cuDestroyExternalMemory(reinterpret_cast<CUexternalMemory>(event.get())) ==
          CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("event");
}

TEST_CASE("destroying and mapping need no context") {
    start();
    const auto memory = imported(memory_fd(page), page);
    const CUcontext context = current();
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    CUdeviceptr address = 0;
    CHECK(map(address, memory, 0, page) == good);
    CHECK(d.cuMemFree(address) == good);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    REQUIRE(d.cuCtxSetCurrent(context) == good);
}

TEST_CASE("imported memory ends with its context") {
    start();
    const auto before = open_descriptors();
    const auto memory = imported(memory_fd(page), page);
    mapped(memory, 0, page);
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    CHECK(open_descriptors() == before);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("exported physical memory imports as external memory") {
    start();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    std::size_t size = 0;
    REQUIRE(d.cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
            good);
    CUmemGenericAllocationHandle physical = 0;
    REQUIRE(d.cuMemCreate(&physical, size, &properties, 0) == good);
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAddressReserve(&address, size, 0, 0, 0) == good);
    REQUIRE(d.cuMemMap(address, size, 0, physical, 0) == good);
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REQUIRE(d.cuMemSetAccess(address, size, &access, 1) == good);
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           0) == good);
    REQUIRE(d.cuMemsetD8(address, 0x5a, size) == good);

    const Imported memory(fd, size);
    CHECK_FALSE(is_open(fd));
    const auto buffer = mapped(memory, 0, size);
    CHECK(got<unsigned char>(&Driver::cuMemcpyDtoH, out, buffer + size - 1, 1) == 0x5a);
    CHECK(d.cuMemsetD8(buffer, 0x11, 1) == good);
    CHECK(got<unsigned char>(&Driver::cuMemcpyDtoH, out, address, 1) == 0x11);
    CUdeviceptr beyond = 0;
    CHECK(map(beyond, memory, 0, size + 1) == invalid);
    CHECK(map(beyond, memory, 0, 0) == invalid);

    // The import holds the memory by itself.
    CHECK(d.cuMemUnmap(address, size) == good);
    CHECK(d.cuMemRelease(physical) == good);
    CHECK(got<unsigned char>(&Driver::cuMemcpyDtoH, out, buffer + 1, 1) == 0x5a);
    CHECK(d.cuMemFree(buffer) == good);
    CHECK(d.cuMemAddressFree(address, size) == good);
}

TEST_CASE("a mipmapped array lies in the other API's memory") {
    start();
    constexpr std::size_t width = 8, height = 4, offset = page + 64;
    const int fd = memory_fd(4 * page);
    auto *theirs = static_cast<unsigned char *>(
        mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    REQUIRE(theirs != MAP_FAILED);
    const auto memory = imported(fd, 4 * page);
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC description{};
    description.offset = offset;
    description.arrayDesc.Width = width;
    description.arrayDesc.Height = height;
    description.arrayDesc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    description.arrayDesc.NumChannels = 1;
    description.numLevels = 2;
    CUmipmappedArray array = nullptr;

    auto bad = description;
    SECTION("beyond the memory") {
        bad.offset = 4 * page - 8;
    }
    SECTION("at an offset that wraps") {
        bad.offset = ~0ULL;
    }
    SECTION("with too many levels") {
        bad.numLevels = ~0U;
    }
    SECTION("bigger than the memory") {
        bad.arrayDesc.Height = 60000;
    }
    SECTION("with reserved words") {
        bad.reserved[3] = 1;
    }
    SECTION("without channels") {
        bad.arrayDesc.NumChannels = 0;
    }
    SECTION("without levels") {
        bad.numLevels = 0;
    }
    CHECK(d.cuExternalMemoryGetMappedMipmappedArray(&array, memory, &bad) == invalid);
    if (bad.numLevels == 0) {
        expect_misuse("a mipmapped array of 0 levels");
    }

    REQUIRE(d.cuExternalMemoryGetMappedMipmappedArray(&array, memory, &description) == good);
    CUarray level = nullptr;
    REQUIRE(d.cuMipmappedArrayGetLevel(&level, array, 1) == good);
    CUDA_MEMCPY2D copy{};
    unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = bytes;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = level;
    copy.WidthInBytes = copy.srcPitch = width / 2;
    copy.Height = height / 2;
    CHECK(d.cuMemcpy2D(&copy) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(std::memcmp(theirs + offset + width * height, bytes, sizeof bytes) == 0);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    CHECK(d.cuMipmappedArrayDestroy(array) == good);
    munmap(theirs, 4 * page);
}

TEST_CASE("a fault that is planned for an import happens before or after it") {
    start();
    const int fd = memory_fd(page);
    const auto description = opaque(fd, page);
    CUexternalMemory memory = nullptr;
    fail_instead("cuImportExternalMemory", CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(is_open(fd));
    CHECK(d.cuImportExternalMemory(&memory, &description) == good);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
}

TEST_CASE("many imports of one memory are independent") {
    start();
    const int fd = memory_fd(page);
    std::vector<CUexternalMemory> imports;
    std::vector<CUdeviceptr> buffers;
    for (int i = 0; i < 20; ++i) {
        imports.push_back(imported(dup(fd), page));
        buffers.push_back(mapped(imports.back(), 0, page));
    }
    REQUIRE(d.cuMemsetD8(buffers.front(), 3, page) == good);
    for (std::size_t i = 0; i < imports.size(); ++i) {
        CHECK(got<unsigned char>(&Driver::cuMemcpyDtoH, out, buffers[i], 1) == 3);
        CHECK(d.cuMemFree(buffers[i]) == good);
        CHECK(d.cuDestroyExternalMemory(imports[i]) == good);
    }
    close(fd);
}
#endif
