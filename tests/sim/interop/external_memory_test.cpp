// External memory: ownership of the descriptor, mappings, sharing with another API.
#ifndef _WIN32
#include "external_tools.hpp"
#include "plan_fault.hpp"
#include "vmm_ranges.hpp"

#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>

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
    return driver().cuImportExternalMemory(&memory, &description);
}

} // namespace

TEST_CASE("an import takes ownership of the descriptor and closes it, also if it fails") {
    const auto before = open_descriptors();
    end(import_memory(memory_fd(page), page));
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const int semaphore = sim_control().make_semaphore_fd(0);
    for (const int fd : {ends[0], semaphore}) {
        CHECK(import_status(memory_of(fd, 64)) == CUDA_ERROR_UNKNOWN);
        CHECK_FALSE(is_open(fd));
    }
    close(ends[1]);
    CHECK(open_descriptors() == before);
    for (const int none : {std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
        CHECK(import_status(memory_of(none, page)) == CUDA_ERROR_UNKNOWN);
    }
}

TEST_CASE("an import with invalid arguments leaves the descriptor open") {
    const int fd = memory_fd(page);
    const auto valid = memory_of(fd, page);
    check_changes(
        valid, import_status,
        {{"reserved words", [](auto &bad) { bad.reserved[15] = 1; }},
         {"a type that takes no descriptor",
          [](auto &bad) { bad.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF; },
          CUDA_ERROR_NOT_SUPPORTED},
         {"DMA buffers", [](auto &bad) { bad.type = static_cast<CUexternalMemoryHandleType>(9); },
          CUDA_ERROR_NOT_SUPPORTED}});
    for (const int other : {0, 3, 4, 5, 6, 7}) { // 0 and types of other systems
        auto bad = valid;
        bad.type = static_cast<CUexternalMemoryHandleType>(other);
        CHECK(import_status(bad) == invalid);
    }
    CHECK(driver().cuImportExternalMemory(nullptr, &valid) == invalid);
    CHECK(is_open(fd));
    close(fd);
}

TEST_CASE("a dedicated resource can be imported") {
    auto description = memory_of(memory_fd(page), page);
    description.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
    ok(driver().cuDestroyExternalMemory(
        got<CUexternalMemory>(&Driver::cuImportExternalMemory, out, &description)));
}

TEST_CASE("a mapped buffer shares the other API's memory") {
    start(GENERATE_COPY(from_range(all_modes())));
    const int fd = memory_fd(4 * page);
    const Theirs<unsigned char> theirs(fd, 4 * page);
    const ExternalMemory memory(fd, 4 * page);

    // The offset is inside a page, so the buffer does not begin at a page.
    const auto buffer = mapped(memory, page + 100, 1000);
    ok(driver().cuMemsetD8(buffer, 7, 1000));
    ok(driver().cuCtxSynchronize());
    CHECK(theirs[page + 99] == 0);
    CHECK(theirs[page + 100] == 7);
    CHECK(theirs[page + 1099] == 7);
    CHECK(theirs[page + 1100] == 0);
    theirs[page + 101] = 9;
    unsigned char read = 0;
    CHECK(got(driver().cuMemcpyDtoH(&read, buffer + 1, 1), read) == 9);
    CHECK(driver().cuMemcpyDtoH(&read, buffer + 1000, 1) == invalid);

    std::size_t size = 0;
    CHECK(got<CUdeviceptr>(&Driver::cuMemGetAddressRange, out, &size, buffer + 10) == buffer);
    CHECK(size == 1000);

    // A second buffer over the same bytes.
    const auto whole = mapped(memory, 0, 4 * page);
    CHECK(got(driver().cuMemcpyDtoH(&read, whole + page + 101, 1), read) == 9);
    ok(driver().cuMemFree(buffer));
    ok(driver().cuMemcpyDtoH(&read, whole + page + 101, 1));
    ok(driver().cuMemFree(whole));
}

TEST_CASE("memory and semaphores of the control table cannot change their size") {
    for (const int fd : {memory_fd(page), sim_control().make_semaphore_fd(0)}) {
        CHECK(ftruncate(fd, 0) == -1);
        close(fd);
    }
}

TEST_CASE("use of imported memory whose owner made it smaller fails and is reported") {
    start(GENERATE_COPY(from_range(all_modes())));
    const int theirs = memfd_create("of another API", MFD_CLOEXEC);
    REQUIRE(ftruncate(theirs, 2 * page) == 0);
    const ExternalMemory memory(fcntl(theirs, F_DUPFD_CLOEXEC, 0), 2 * page);
    const auto buffer = mapped(memory, 0, 2 * page);
    ok(driver().cuMemsetD32(buffer, 1, page / 2));
    ok(driver().cuCtxSynchronize());
    REQUIRE(ftruncate(theirs, page) == 0);
    close(theirs);
    ok(driver().cuMemsetD32(buffer, 1, page / 4));
    check_misuse(driver().cuMemsetD32(buffer, 1, page / 4 + 1), invalid, "was made smaller");
    sim_control().clear_misuses();
    ok(driver().cuMemFree(buffer));
}

TEST_CASE("a buffer must lie within the imported memory") {
    constexpr auto most = std::numeric_limits<unsigned long long>::max();
    const ExternalMemory memory(memory_fd(4 * page), 2 * page); // two pages of four
    CUdeviceptr address = 0;
    check_all(invalid, {map(address, memory, 0, 2 * page + 1), map(address, memory, 2 * page, 1),
                        map(address, memory, most, 2), map(address, memory, 2, most)});
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{.size = page};
    const auto valid = description;
    description.reserved[0] = 1;
    check_all(invalid, {driver().cuExternalMemoryGetMappedBuffer(&address, memory, &description),
                        driver().cuExternalMemoryGetMappedBuffer(nullptr, memory, &valid),
                        driver().cuExternalMemoryGetMappedBuffer(&address, memory, nullptr)});
}

TEST_CASE("an import may be destroyed before its buffer is freed, later use is a misuse") {
    const bool used = GENERATE(false, true);
    const auto memory = import_memory(memory_fd(page), page);
    const auto buffer = mapped(memory, 0, page);
    ok(driver().cuDestroyExternalMemory(memory));
    if (used) {
        check_misuse(driver().cuMemsetD8(buffer, 1, 1), CUDA_SUCCESS,
                     "use after cuDestroyExternalMemory");
        sim_control().clear_misuses();
    }
    ok(driver().cuMemFree(buffer));
}

TEST_CASE("a buffer and an import that are not released are leaks") {
    const ExternalMemory memory(memory_fd(page), page);
    const auto buffer = mapped(memory, 0, page);
    CHECK(leaks().size() == 2);
    ok(driver().cuMemFree(buffer));
    check_misuse(driver().cuMemFree(buffer), invalid, "external memory");
}

TEST_CASE("invalid handles of external memory fail and are reported") {
    const auto gone = import_memory(memory_fd(page), page);
    end(gone);
    CUdeviceptr address = 0;
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(driver().cuDestroyExternalMemory(gone), refused, "external memory");
    check_misuse(map(address, gone, 0, page), refused, "external memory");
    const Event event;
    const auto other = reinterpret_cast<CUexternalMemory>(event.get());
    check_misuse(driver().cuDestroyExternalMemory(other), refused, "event");
}

TEST_CASE("resetting a context frees its external memory") {
    const auto before = open_descriptors();
    const auto memory = import_memory(memory_fd(page), page);
    mapped(memory, 0, page);
    require_ok(driver().cuDevicePrimaryCtxReset(0));
    expect_ended({"external memory"});
    CHECK(leaks().empty());
    CHECK(open_descriptors() == before);
    CHECK(driver().cuDestroyExternalMemory(memory) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("exported physical memory imports as external memory") {
    auto physical = std::make_unique<Mapped>(G, exportable());
    require_ok(driver().cuMemsetD8(physical->address, 0x5a, G));
    const ExternalMemory memory(export_fd(physical->handle), G);
    const auto buffer = mapped(memory, 0, G);
    CHECK(byte_at(buffer + G - 1) == 0x5a);
    ok(driver().cuMemsetD8(buffer, 0x11, 1));
    CHECK(byte_at(physical->address) == 0x11);
    physical.reset(); // the import keeps the memory alive
    CHECK(byte_at(buffer + 1) == 0x5a);
    release(buffer);
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
        return driver().cuExternalMemoryGetMappedMipmappedArray(&array, memory, &with);
    };
    check_changes(description, map_array,
                  {{"beyond the memory", [](auto &bad) { bad.offset = 4 * page - 8; }},
                   {"an offset that wraps", [](auto &bad) { bad.offset = ~0ULL; }},
                   {"too many levels", [](auto &bad) { bad.numLevels = ~0U; }},
                   {"reserved words", [](auto &bad) { bad.reserved[3] = 1; }},
                   {"no channels", [](auto &bad) { bad.arrayDesc.NumChannels = 0; }},
                   {"no levels", [](auto &bad) { bad.numLevels = 0; }}});
    expect_misuse("a mipmapped array of 0 levels");
    require_ok(map_array(description));
    const auto level = got<CUarray>(&Driver::cuMipmappedArrayGetLevel, out, array, 1);
    const unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const CUDA_MEMCPY2D copy{.srcMemoryType = CU_MEMORYTYPE_HOST,
                             .srcHost = bytes,
                             .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                             .dstArray = level,
                             .WidthInBytes = width / 2,
                             .Height = height / 2};
    ok(driver().cuMemcpy2D(&copy));
    ok(driver().cuCtxSynchronize());
    CHECK(std::memcmp(&theirs[offset + width * height], bytes, sizeof bytes) == 0);
    ok(driver().cuDestroyExternalMemory(memory));
    ok(driver().cuMipmappedArrayDestroy(array));
}

TEST_CASE("an import that a fault replaces leaves the descriptor open") {
    const int fd = memory_fd(page);
    const auto description = memory_of(fd, page);
    CUexternalMemory memory = nullptr;
    fail_instead("cuImportExternalMemory", CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(driver().cuImportExternalMemory(&memory, &description) == CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(is_open(fd));
    ok(driver().cuImportExternalMemory(&memory, &description));
    ok(driver().cuDestroyExternalMemory(memory));
}

#endif
