// External memory: ownership of the descriptor, mappings, sharing with another API.
#ifndef _WIN32
#include "external_tools.hpp"
#include "plan_fault.hpp"
#include "vmm_tools.hpp"

#include <fcntl.h>
#include <limits>

using namespace sim_test;

namespace {

constexpr std::size_t page = 4096;

int memory_fd(std::size_t size) {
    const int fd = sim_control().make_memory_fd(size);
    REQUIRE(fd >= 0);
    return fd;
}

CUresult import_status(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC &description) {
    CUexternalMemory memory = nullptr;
    return d.cuImportExternalMemory(&memory, &description);
}

} // namespace

TEST_CASE("an import takes ownership of the descriptor") {
    const auto before = open_descriptors();
    const int fd = memory_fd(page);
    const auto memory = import_memory(fd, page);
    CHECK_FALSE(is_open(fd)); // closed for the client
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    CHECK(open_descriptors() == before);
}

TEST_CASE("a failed import also closes the descriptor") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const int device = open("/dev/null", O_RDWR), semaphore = sim_control().make_semaphore_fd(0);
    for (const int fd : {device, ends[0], semaphore}) {
        CHECK(import_status(memory_of(fd, 64)) == CUDA_ERROR_UNKNOWN);
        CHECK_FALSE(is_open(fd));
    }
    CHECK(is_open(ends[1]));
    close(ends[1]);
    for (const int none : {-1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
        CHECK(import_status(memory_of(none, page)) == CUDA_ERROR_UNKNOWN);
    }
}

TEST_CASE("an import may claim more than the size of the memory, mapping the excess fails") {
    const int fd = memory_fd(page);
    const ExternalMemory memory(fd, 64 * page);
    CHECK_FALSE(is_open(fd));
    CUdeviceptr buffer = 0, beyond = 0;
    CHECK(map(buffer, memory, 0, page) == good);
    CHECK(map(beyond, memory, 0, page + 1) == invalid);
    CHECK(map(beyond, memory, page, page) == invalid);
    CHECK(d.cuMemFree(buffer) == good);
}

TEST_CASE("an import with invalid arguments leaves the descriptor open") {
    const int fd = memory_fd(page);
    auto valid = memory_of(fd, page);
    check_changes(
        valid, import_status,
        {{"no size", [](auto &bad) { bad.size = 0; }},
         {"unknown flags", [](auto &bad) { bad.flags = 2; }},
         {"reserved words", [](auto &bad) { bad.reserved[15] = 1; }},
         {"a type that takes no descriptor",
          [](auto &bad) { bad.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF; },
          CUDA_ERROR_NOT_SUPPORTED},
         {"DMA buffers", [](auto &bad) { bad.type = static_cast<CUexternalMemoryHandleType>(9); },
          CUDA_ERROR_NOT_SUPPORTED}});
    for (const int other : {0, 2, 3, 4, 5, 6, 7, 99}) { // 0 and types of other systems
        auto bad = valid;
        bad.type = static_cast<CUexternalMemoryHandleType>(other);
        CHECK(import_status(bad) == invalid);
    }
    CUexternalMemory memory = nullptr;
    CHECK(d.cuImportExternalMemory(nullptr, &valid) == invalid);
    CHECK(d.cuImportExternalMemory(&memory, nullptr) == invalid);
    const WithoutContext none;
    CHECK(import_status(valid) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(is_open(fd));
    close(fd);
}

TEST_CASE("a dedicated resource can be imported") {
    auto description = memory_of(memory_fd(page), page);
    description.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
    CHECK(d.cuDestroyExternalMemory(
              got<CUexternalMemory>(&Driver::cuImportExternalMemory, out, &description)) == good);
}

TEST_CASE("a mapped buffer shares the other API's memory") {
    start(GENERATE_COPY(from_range(all_modes())));
    const int fd = memory_fd(4 * page);
    const Theirs<unsigned char> theirs(fd, 4 * page);
    const ExternalMemory memory(fd, 4 * page);

    // The offset is inside a page, so the buffer does not begin at a page.
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

    // A second buffer over the same bytes.
    const auto whole = mapped(memory, 0, 4 * page);
    CHECK(got(d.cuMemcpyDtoH(&read, whole + page + 101, 1), read) == 9);
    CHECK(d.cuMemFree(buffer) == good);
    CHECK(d.cuMemcpyDtoH(&read, whole + page + 101, 1) == good);
    CHECK(d.cuMemFree(whole) == good);
}

TEST_CASE("a buffer must lie within the imported memory") {
    constexpr auto most = std::numeric_limits<unsigned long long>::max();
    const ExternalMemory memory(memory_fd(4 * page), 2 * page); // two pages of four
    CUdeviceptr address = 0;
    const struct {
        unsigned long long offset, size;
        unsigned int flags;
    } cases[] = {{0, 0},    {0, 2 * page + 1}, {2 * page, 1}, {1, 2 * page},
                 {most, 2}, {2, most},         {most, most},  {0, page, 1}};
    for (const auto &[offset, size, flags] : cases) {
        INFO(offset << ", " << size << ", flags " << flags);
        CHECK(map(address, memory, offset, size, flags) == invalid);
        CHECK(address != 0); // overwritten with an invalid address
    }
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{};
    description.size = page;
    CHECK(d.cuExternalMemoryGetMappedBuffer(nullptr, memory, &description) == invalid);
    CHECK(d.cuExternalMemoryGetMappedBuffer(&address, memory, nullptr) == invalid);
    description.reserved[0] = 1;
    CHECK(d.cuExternalMemoryGetMappedBuffer(&address, memory, &description) == invalid);
}

TEST_CASE("an import may be destroyed before its buffer is freed, later use is a misuse") {
    const bool used = GENERATE(false, true);
    const auto memory = import_memory(memory_fd(page), page);
    const auto buffer = mapped(memory, 0, page);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    if (used) {
        check_misuse(d.cuMemsetD8(buffer, 1, 1), good, "use after cuDestroyExternalMemory");
        sim_control().clear_misuses();
    }
    CHECK(d.cuMemFree(buffer) == good);
}

TEST_CASE("a buffer and an import that are not released are leaks") {
    const ExternalMemory memory(memory_fd(page), page);
    const auto buffer = mapped(memory, 0, page);
    CHECK(leaks().size() == 2);
    CHECK(d.cuMemFree(buffer) == good);
    check_misuse(d.cuMemFree(buffer), invalid, "external memory");
}

TEST_CASE("invalid handles of external memory fail and are reported") {
    CUdeviceptr address = 0;
    CUmipmappedArray array = nullptr;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC levels{};
    check_all(invalid, {d.cuDestroyExternalMemory(nullptr), map(address, nullptr, 0, page),
                        d.cuExternalMemoryGetMappedMipmappedArray(&array, nullptr, &levels)});
    const auto gone = import_memory(memory_fd(page), page);
    end(gone);
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(d.cuDestroyExternalMemory(gone), refused, "external memory");
    check_misuse(map(address, gone, 0, page), refused, "external memory");
    const Event event;
    const auto other = reinterpret_cast<CUexternalMemory>(event.get());
    check_misuse(d.cuDestroyExternalMemory(other), refused, "event");
}

TEST_CASE("mapping and destroying external memory need no context") {
    const auto memory = import_memory(memory_fd(page), page);
    const WithoutContext none;
    CUdeviceptr address = 0;
    CHECK(map(address, memory, 0, page) == good);
    CHECK(d.cuMemFree(address) == good);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
}

TEST_CASE("resetting a context frees its external memory") {
    const auto before = open_descriptors();
    const auto memory = import_memory(memory_fd(page), page);
    mapped(memory, 0, page);
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    CHECK(open_descriptors() == before);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("exported physical memory imports as external memory") {
    constexpr auto as_fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    constexpr std::size_t size = default_granularity;
    const auto physical = create_memory(size, on_device(0, as_fd));
    const CUdeviceptr address = reserve(size);
    map(address, size, physical);
    allow(address, size);
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, physical, as_fd, 0) == good);
    REQUIRE(d.cuMemsetD8(address, 0x5a, size) == good);

    const ExternalMemory memory(fd, size);
    CHECK_FALSE(is_open(fd));
    const auto buffer = mapped(memory, 0, size);
    CHECK(got<unsigned char>(&Driver::cuMemcpyDtoH, out, buffer + size - 1, 1) == 0x5a);
    CHECK(d.cuMemsetD8(buffer, 0x11, 1) == good);
    CHECK(got<unsigned char>(&Driver::cuMemcpyDtoH, out, address, 1) == 0x11);
    CUdeviceptr beyond = 0;
    CHECK(map(beyond, memory, 0, size + 1) == invalid);
    CHECK(map(beyond, memory, 0, 0) == invalid);

    // The import keeps the memory alive.
    CHECK(d.cuMemUnmap(address, size) == good);
    CHECK(d.cuMemRelease(physical) == good);
    CHECK(got<unsigned char>(&Driver::cuMemcpyDtoH, out, buffer + 1, 1) == 0x5a);
    CHECK(d.cuMemFree(buffer) == good);
    CHECK(d.cuMemAddressFree(address, size) == good);
}

TEST_CASE("a mipmapped array shares the other API's memory") {
    constexpr std::size_t width = 8, height = 4, offset = page + 64;
    const int fd = memory_fd(4 * page);
    const Theirs<unsigned char> theirs(fd, 4 * page);
    const auto memory = import_memory(fd, 4 * page);
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC description{};
    description.offset = offset;
    description.arrayDesc.Width = width;
    description.arrayDesc.Height = height;
    description.arrayDesc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    description.arrayDesc.NumChannels = 1;
    description.numLevels = 2;
    CUmipmappedArray array = nullptr;

    const auto map_array = [&](const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC &with) {
        return d.cuExternalMemoryGetMappedMipmappedArray(&array, memory, &with);
    };
    check_changes(description, map_array,
                  {{"beyond the memory", [](auto &bad) { bad.offset = 4 * page - 8; }},
                   {"an offset that wraps", [](auto &bad) { bad.offset = ~0ULL; }},
                   {"too many levels", [](auto &bad) { bad.numLevels = ~0U; }},
                   {"a height beyond it", [](auto &bad) { bad.arrayDesc.Height = 60000; }},
                   {"reserved words", [](auto &bad) { bad.reserved[3] = 1; }},
                   {"no channels", [](auto &bad) { bad.arrayDesc.NumChannels = 0; }},
                   {"no levels", [](auto &bad) { bad.numLevels = 0; }}});
    expect_misuse("a mipmapped array of 0 levels");
    REQUIRE(map_array(description) == good);
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
    CHECK(std::memcmp(&theirs[offset + width * height], bytes, sizeof bytes) == 0);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    CHECK(d.cuMipmappedArrayDestroy(array) == good);
}

TEST_CASE("an import that a fault replaces leaves the descriptor open") {
    const int fd = memory_fd(page);
    const auto description = memory_of(fd, page);
    CUexternalMemory memory = nullptr;
    fail_instead("cuImportExternalMemory", CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(d.cuImportExternalMemory(&memory, &description) == CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(is_open(fd));
    CHECK(d.cuImportExternalMemory(&memory, &description) == good);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
}

TEST_CASE("imports of the same memory are independent") {
    const int fd = memory_fd(page);
    std::vector<CUexternalMemory> imports;
    std::vector<CUdeviceptr> buffers;
    for (int i = 0; i < 20; ++i) {
        imports.push_back(import_memory(dup(fd), page));
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
