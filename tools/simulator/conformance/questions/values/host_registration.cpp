// Registration of host memory of each kind, with each flag, and of ranges that overlap.
#include "host_ranges.hpp"
#include "row.hpp"

#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace record::QUESTIONS {

namespace {

constexpr std::size_t page = 4096;

char *pages(std::size_t count) {
    return static_cast<char *>(
        mmap(nullptr, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

// Registers the memory, and unregisters it if that succeeds.
CUresult status_of(void *start, std::size_t size, unsigned int flags) {
    const CUresult status = d.cuMemHostRegister(start, size, flags);
    if (status == CUDA_SUCCESS) {
        d.cuMemHostUnregister(start);
    }
    return status;
}

} // namespace

// Each kind of memory: without flags, and read-only.
SECTION("host_memory_registered", start) {
    for (const HostRange &range : host_ranges()) {
        Row row;
        for (const unsigned int flags : {0x00u, 0x08u}) {
            row.add(status_of(range.start, range.size, flags));
        }
        row.print(range.name);
    }
}

// The reported flags, for each value.
SECTION("host_memory_flags", start) {
    const auto with_flags = [](const std::string &name, void *start, std::size_t size) {
        Row row;
        for (unsigned int flags = 0; flags < 0x24; ++flags) {
            const CUresult status = d.cuMemHostRegister(start, size, flags);
            unsigned int found = 0xbad;
            if (status == CUDA_SUCCESS) {
                d.cuMemHostGetFlags(&found, start);
                d.cuMemHostUnregister(start);
            }
            row.add(status, found);
        }
        row.print(name);
    };
    with_flags("writable pages", pages(2), 2 * page);
    char *read_only = pages(2);
    mprotect(read_only, 2 * page, PROT_READ);
    with_flags("read-only pages", read_only, 2 * page);
    with_flags("a hole", reinterpret_cast<void *>(page), page);
}

// What can be done with memory that is registered as read-only.
SECTION("host_memory_used", start) {
    CUdeviceptr p = MAKE(cuMemAlloc, page), mapped = 0;
    for (const int protection : {PROT_READ, PROT_READ | PROT_WRITE}) {
        const std::string name = protection == PROT_READ ? " read-only pages" : " writable pages";
        char *memory = pages(2);
        std::memset(memory, 7, 2 * page);
        mprotect(memory, 2 * page, protection);
        ask("cuMemHostRegister" + name, d.cuMemHostRegister(memory, 2 * page, 0x08));
        ASK(cuMemHostGetDevicePointer, "", &mapped, memory, 0);
        note("the same address", mapped == reinterpret_cast<CUdeviceptr>(memory));
        int value = -1;
        ASK(cuPointerGetAttribute, " of memory type", &value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            reinterpret_cast<CUdeviceptr>(memory));
        note("memory type", value);
        ASK(cuPointerGetAttribute, " of access", &value, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
            reinterpret_cast<CUdeviceptr>(memory));
        note("access", value);
        ASK(cuMemcpyHtoD, " from it", p, memory, page);
        unsigned char first = 0;
        d.cuMemcpyDtoH(&first, p, 1);
        note("byte", first);
        ASK(cuMemcpyHtoDAsync, " from it", p, memory, page, nullptr);
        ASK(cuCtxSynchronize, "");
        ASK(cuMemHostRegister, " again", memory, 2 * page, 0x08);
        ASK(cuMemHostRegister, " again, not read-only", memory, 2 * page, 0);
        ASK(cuMemHostUnregister, "", memory);
        ASK(cuMemHostUnregister, " again", memory);
    }
}

SECTION("host_memory_overlaps", start) {
    char *const memory = pages(8);
    const auto registered = [&](const char *what, std::size_t offset, std::size_t size,
                                unsigned int flags = 0) {
        ask(std::string("cuMemHostRegister ") + what, status_of(memory + offset, size, flags));
    };
    ASK(cuMemHostRegister, " of pages 2 to 3", memory + 2 * page, 2 * page, 0);
    registered("of the same", 2 * page, 2 * page);
    registered("of the same, portable", 2 * page, 2 * page, CU_MEMHOSTREGISTER_PORTABLE);
    registered("of the same, read-only", 2 * page, 2 * page, 0x08);
    registered("of the same, flags 0x80", 2 * page, 2 * page, 0x80);
    registered("of its first page", 2 * page, page);
    registered("of its last page", 3 * page, page);
    registered("of its first byte", 2 * page, 1);
    registered("of its last byte", 4 * page - 1, 1);
    registered("of bytes inside", 2 * page + 100, 100);
    registered("of pages 1 to 2", page, 2 * page);
    registered("of pages 3 to 4", 3 * page, 2 * page);
    registered("of pages 1 to 4", page, 4 * page);
    registered("of everything", 0, 8 * page);
    registered("up to its first byte", page, page + 1);
    registered("up to it", page, page);
    registered("from its end", 4 * page, page);
    registered("from before its end", 4 * page - 1, 2);
    registered("of everything from its end", 4 * page, 4 * page);
    ASK(cuMemHostRegister, " of 100 bytes of page 6", memory + 6 * page + 100, 100, 0);
    registered("of other bytes of the page", 6 * page + 1000, 100);
    registered("of the bytes up to them", 6 * page, 100);
    registered("of the bytes behind them", 6 * page + 200, 100);
    registered("of the page", 6 * page, page);
    registered("of pages 5 to 7", 5 * page, 3 * page);
    registered("of all bytes but them", 6 * page + 200, page - 200);
    CUcontext made = nullptr;
    d.cuCtxCreate_v2(&made, 0, 0);
    registered("of the same in another context", 2 * page, 2 * page);
    registered("of other pages in another context", 0, page);
    ASK(cuMemHostUnregister, " in another context", memory + 2 * page);
    ASK(cuMemHostRegister, " in another context", memory + 2 * page, 2 * page, 0);
    d.cuCtxSetCurrent(context());
    registered("of pages of a second context", 2 * page, 2 * page);
    ASK(cuCtxDestroy, "", made);
    registered("of pages of a destroyed context", 2 * page, 2 * page);
    d.cuMemHostUnregister(memory + 6 * page + 100);
}

// Memory of CUDA, and sizes that no memory has.
SECTION("host_memory_of_cuda", start) {
    const auto registered = [](const std::string &what, void *start, std::size_t size) {
        Row row;
        for (const unsigned int flags : {0u, 8u}) {
            row.add(status_of(start, size, flags));
        }
        row.print(what);
    };
    CUdeviceptr device = MAKE(cuMemAlloc, 4 * page), managed = 0;
    d.cuMemAllocManaged(&managed, 4 * page, CU_MEM_ATTACH_GLOBAL);
    char *pinned = static_cast<char *>(MAKE(cuMemHostAlloc, 4 * page, 0));
    registered("device memory", reinterpret_cast<void *>(device), page);
    registered("bytes of device memory", reinterpret_cast<void *>(device + 100), 100);
    registered("managed memory", reinterpret_cast<void *>(managed), page);
    registered("bytes of managed memory", reinterpret_cast<void *>(managed + 100), 100);
    registered("pinned memory", pinned, 4 * page);
    registered("bytes of pinned memory", pinned + 100, 100);
    char *memory = pages(4);
    registered("all bytes from an address", memory,
               ~std::size_t(0) - reinterpret_cast<std::size_t>(memory));
    registered("more bytes than there are", memory, ~std::size_t(0));
    registered("2^47 bytes", memory, std::size_t(1) << 47);
    registered("2^40 bytes", memory, std::size_t(1) << 40);
    registered("4 GiB of addresses",
               mmap(nullptr, std::size_t(1) << 32, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
               std::size_t(1) << 32);
    ASK(cuMemHostRegister, " of pages", memory, 4 * page, 0);
    munmap(memory, 4 * page);
    ASK(cuMemHostRegister, " of unmapped registered pages", memory, 4 * page, 0);
    void *again = mmap(memory, 4 * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    note("mapped at the same address", again == memory);
    ASK(cuMemHostRegister, " of registered pages that were mapped again", memory, 4 * page, 0);
    ASK(cuMemHostUnregister, " of them", memory);
    ASK(cuMemHostRegister, " of them, afterwards", memory, 4 * page, 0);
    mprotect(memory, 4 * page, PROT_READ);
    ASK(cuMemHostUnregister, " of pages that are read-only by now", memory);
    ASK(cuMemHostRegister, " of pages that are read-only by now", memory, 4 * page, 0);
}

} // namespace record::QUESTIONS
