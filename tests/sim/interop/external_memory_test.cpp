// External memory: who owns the descriptor, what can be mapped, what is the same memory.
#include "../support/child_process.hpp"
#include "plan_fault.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <cstring>
#include <limits>
#include <vector>

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
    REQUIRE(cushim::driver().cuImportExternalMemory(&memory, &description) == CUDA_SUCCESS);
    return memory;
}

int memory_fd(std::size_t size) {
    const int fd = sim_control().make_memory_fd(size);
    REQUIRE(fd >= 0);
    return fd;
}

CUresult map(CUdeviceptr &address, CUexternalMemory memory, unsigned long long offset,
             unsigned long long size, unsigned int flags = 0) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{};
    description.offset = offset;
    description.size = size;
    description.flags = flags;
    return cushim::driver().cuExternalMemoryGetMappedBuffer(&address, memory, &description);
}

CUdeviceptr mapped(CUexternalMemory memory, unsigned long long offset, unsigned long long size) {
    CUdeviceptr address = 0;
    REQUIRE(map(address, memory, offset, size) == CUDA_SUCCESS);
    return address;
}

} // namespace

TEST_CASE("an import takes the descriptor over", "[external]") {
    start();
    const auto &d = cushim::driver();
    const auto before = open_descriptors();
    const int fd = memory_fd(page);
    const auto memory = imported(fd, page);
    CHECK_FALSE(is_open(fd)); // the number is the client's no longer
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    CHECK(open_descriptors() == before);
}

TEST_CASE("a failed import takes the descriptor, too", "[external]") {
    start();
    const auto &d = cushim::driver();
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

TEST_CASE("an import may say more than there is, which cannot be mapped", "[external]") {
    start();
    const int fd = memory_fd(page);
    const auto memory = imported(fd, 64 * page);
    CHECK_FALSE(is_open(fd));
    CUdeviceptr buffer = 0, beyond = 0;
    CHECK(map(buffer, memory, 0, page) == CUDA_SUCCESS);
    CHECK(map(beyond, memory, 0, page + 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(beyond, memory, page, page) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cushim::driver().cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(cushim::driver().cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
}

TEST_CASE("what is no descriptor cannot be imported", "[external]") {
    start();
    const auto &d = cushim::driver();
    CUexternalMemory memory = nullptr;
    for (const int fd : {-1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
        const auto description = opaque(fd, page);
        CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_UNKNOWN);
    }
}

TEST_CASE("an import whose arguments are wrong leaves the descriptor alone", "[external]") {
    start();
    const auto &d = cushim::driver();
    const int fd = memory_fd(page);
    auto description = opaque(fd, page);
    CUexternalMemory memory = nullptr;
    CUresult expected = CUDA_ERROR_INVALID_VALUE;
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

TEST_CASE("an import needs its arguments and a context", "[external]") {
    start();
    const auto &d = cushim::driver();
    const int fd = memory_fd(page);
    const auto description = opaque(fd, page);
    CUexternalMemory memory = nullptr;
    CHECK(d.cuImportExternalMemory(nullptr, &description) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuImportExternalMemory(&memory, nullptr) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(d.cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(is_open(fd));
    close(fd);
}

TEST_CASE("a dedicated resource imports", "[external]") {
    start();
    auto description = opaque(memory_fd(page), page);
    description.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
    CUexternalMemory memory = nullptr;
    CHECK(cushim::driver().cuImportExternalMemory(&memory, &description) == CUDA_SUCCESS);
    CHECK(cushim::driver().cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
}

TEST_CASE("a mapped buffer is the other API's memory", "[external]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    const int fd = memory_fd(4 * page);
    auto *theirs = static_cast<unsigned char *>(
        mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    REQUIRE(theirs != MAP_FAILED);
    const auto memory = imported(fd, 4 * page);

    // From inside a page, so that the base of the buffer is not that of a page.
    const auto buffer = mapped(memory, page + 100, 1000);
    CHECK(d.cuMemsetD8(buffer, 7, 1000) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(theirs[page + 99] == 0);
    CHECK(theirs[page + 100] == 7);
    CHECK(theirs[page + 1099] == 7);
    CHECK(theirs[page + 1100] == 0);
    theirs[page + 101] = 9;
    unsigned char read = 0;
    CHECK(d.cuMemcpyDtoH(&read, buffer + 1, 1) == CUDA_SUCCESS);
    CHECK(read == 9);
    CHECK(d.cuMemcpyDtoH(&read, buffer + 1000, 1) == CUDA_ERROR_INVALID_VALUE);

    CUdeviceptr base = 0;
    std::size_t size = 0;
    CHECK(d.cuMemGetAddressRange(&base, &size, buffer + 10) == CUDA_SUCCESS);
    CHECK(base == buffer);
    CHECK(size == 1000);

    // Two buffers over the same bytes.
    const auto whole = mapped(memory, 0, 4 * page);
    CHECK(d.cuMemcpyDtoH(&read, whole + page + 101, 1) == CUDA_SUCCESS);
    CHECK(read == 9);
    CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(d.cuMemcpyDtoH(&read, whole + page + 101, 1) == CUDA_SUCCESS);
    CHECK(d.cuMemFree(whole) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    munmap(theirs, 4 * page);
}

TEST_CASE("a buffer must lie in the memory", "[external]") {
    start();
    const auto &d = cushim::driver();
    constexpr auto most = std::numeric_limits<unsigned long long>::max();
    const auto memory = imported(memory_fd(4 * page), 2 * page); // two pages of four
    CUdeviceptr address = 0;
    CHECK(map(address, memory, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(address, memory, 0, 2 * page + 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(address, memory, 2 * page, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(address, memory, 1, 2 * page) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(address, memory, most, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(address, memory, 2, most) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(address, memory, most, most) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(address, memory, 0, page, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(address != 0); // written with what nobody can take for an address

    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{};
    description.size = page;
    CHECK(d.cuExternalMemoryGetMappedBuffer(nullptr, memory, &description) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuExternalMemoryGetMappedBuffer(&address, memory, nullptr) == CUDA_ERROR_INVALID_VALUE);
    description.reserved[0] = 1;
    CHECK(d.cuExternalMemoryGetMappedBuffer(&address, memory, &description) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
}

TEST_CASE("an import may be destroyed before its buffer is freed, but not used then",
          "[external]") {
    start();
    const auto &d = cushim::driver();
    const auto memory = imported(memory_fd(page), page);
    const auto buffer = mapped(memory, 0, page);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    SECTION("freed") {
        CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    }
    SECTION("used, then freed") {
        CHECK(d.cuMemsetD8(buffer, 1, 1) == CUDA_SUCCESS);
        expect_misuse("use after cuDestroyExternalMemory");
        sim_control().clear_misuses();
        CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    }
}

TEST_CASE("a buffer that nobody freed is a leak, and so is an import", "[external]") {
    start();
    const auto &d = cushim::driver();
    const auto memory = imported(memory_fd(page), page);
    const auto buffer = mapped(memory, 0, page);
    const auto lines = leaks();
    CHECK(lines.size() == 2);
    CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(d.cuMemFree(buffer) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("external memory");
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
}

TEST_CASE("handles of external memory that are none are refused", "[external]") {
    start();
    const auto &d = cushim::driver();
    CUdeviceptr address = 0;
    CHECK(d.cuDestroyExternalMemory(nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(address, nullptr, 0, page) == CUDA_ERROR_INVALID_VALUE);
    CUmipmappedArray array = nullptr;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC levels{};
    CHECK(d.cuExternalMemoryGetMappedMipmappedArray(&array, nullptr, &levels) ==
          CUDA_ERROR_INVALID_VALUE);
    const auto memory = imported(memory_fd(page), page);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("external memory");
    CHECK(map(address, memory, 0, page) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("external memory");
    CUevent event = nullptr;
    REQUIRE(d.cuEventCreate(&event, 0) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(reinterpret_cast<CUexternalMemory>(event)) ==
          CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("event");
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("destroying and mapping need no context", "[external]") {
    start();
    const auto &d = cushim::driver();
    const auto memory = imported(memory_fd(page), page);
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    CUdeviceptr address = 0;
    CHECK(map(address, memory, 0, page) == CUDA_SUCCESS);
    CHECK(d.cuMemFree(address) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
}

TEST_CASE("imported memory ends with its context", "[external]") {
    start();
    const auto &d = cushim::driver();
    const auto before = open_descriptors();
    const auto memory = imported(memory_fd(page), page);
    mapped(memory, 0, page);
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CHECK(leaks().empty());
    CHECK(open_descriptors() == before);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("exported physical memory imports as external memory", "[external]") {
    start();
    const auto &d = cushim::driver();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    std::size_t size = 0;
    REQUIRE(d.cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
            CUDA_SUCCESS);
    CUmemGenericAllocationHandle physical = 0;
    REQUIRE(d.cuMemCreate(&physical, size, &properties, 0) == CUDA_SUCCESS);
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAddressReserve(&address, size, 0, 0, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuMemMap(address, size, 0, physical, 0) == CUDA_SUCCESS);
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REQUIRE(d.cuMemSetAccess(address, size, &access, 1) == CUDA_SUCCESS);
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           0) == CUDA_SUCCESS);
    REQUIRE(d.cuMemsetD8(address, 0x5a, size) == CUDA_SUCCESS);

    const auto memory = imported(fd, size);
    CHECK_FALSE(is_open(fd));
    const auto buffer = mapped(memory, 0, size);
    unsigned char read = 0;
    CHECK(d.cuMemcpyDtoH(&read, buffer + size - 1, 1) == CUDA_SUCCESS);
    CHECK(read == 0x5a);
    CHECK(d.cuMemsetD8(buffer, 0x11, 1) == CUDA_SUCCESS);
    CHECK(d.cuMemcpyDtoH(&read, address, 1) == CUDA_SUCCESS);
    CHECK(read == 0x11);
    CUdeviceptr beyond = 0;
    CHECK(map(beyond, memory, 0, size + 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(beyond, memory, 0, 0) == CUDA_ERROR_INVALID_VALUE);

    // The import holds the memory by itself.
    CHECK(d.cuMemUnmap(address, size) == CUDA_SUCCESS);
    CHECK(d.cuMemRelease(physical) == CUDA_SUCCESS);
    CHECK(d.cuMemcpyDtoH(&read, buffer + 1, 1) == CUDA_SUCCESS);
    CHECK(read == 0x5a);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(d.cuMemAddressFree(address, size) == CUDA_SUCCESS);
}

TEST_CASE("a mipmapped array lies in the other API's memory", "[external]") {
    start();
    const auto &d = cushim::driver();
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
    CHECK(d.cuExternalMemoryGetMappedMipmappedArray(&array, memory, &bad) ==
          CUDA_ERROR_INVALID_VALUE);
    if (bad.numLevels == 0) {
        expect_misuse("a mipmapped array of no levels");
    }

    REQUIRE(d.cuExternalMemoryGetMappedMipmappedArray(&array, memory, &description) ==
            CUDA_SUCCESS);
    CUarray level = nullptr;
    REQUIRE(d.cuMipmappedArrayGetLevel(&level, array, 1) == CUDA_SUCCESS);
    CUDA_MEMCPY2D copy{};
    unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = bytes;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = level;
    copy.WidthInBytes = copy.srcPitch = width / 2;
    copy.Height = height / 2;
    CHECK(d.cuMemcpy2D(&copy) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(std::memcmp(theirs + offset + width * height, bytes, sizeof bytes) == 0);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    CHECK(d.cuMipmappedArrayDestroy(array) == CUDA_SUCCESS);
    munmap(theirs, 4 * page);
}

TEST_CASE("a fault that is planned for an import happens before or after it", "[external]") {
    start();
    const auto &d = cushim::driver();
    const int fd = memory_fd(page);
    const auto description = opaque(fd, page);
    CUexternalMemory memory = nullptr;
    fail_instead("cuImportExternalMemory", CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(is_open(fd));
    CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
}

TEST_CASE("many imports of one memory are independent", "[external]") {
    start();
    const auto &d = cushim::driver();
    const int fd = memory_fd(page);
    std::vector<CUexternalMemory> imports;
    std::vector<CUdeviceptr> buffers;
    for (int i = 0; i < 20; ++i) {
        imports.push_back(imported(dup(fd), page));
        buffers.push_back(mapped(imports.back(), 0, page));
    }
    REQUIRE(d.cuMemsetD8(buffers.front(), 3, page) == CUDA_SUCCESS);
    for (std::size_t i = 0; i < imports.size(); ++i) {
        unsigned char read = 0;
        CHECK(d.cuMemcpyDtoH(&read, buffers[i], 1) == CUDA_SUCCESS);
        CHECK(read == 3);
        CHECK(d.cuMemFree(buffers[i]) == CUDA_SUCCESS);
        CHECK(d.cuDestroyExternalMemory(imports[i]) == CUDA_SUCCESS);
    }
    close(fd);
}
#endif
