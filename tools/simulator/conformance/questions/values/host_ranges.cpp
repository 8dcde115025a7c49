#include "host_ranges.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>

namespace record {

namespace {

constexpr std::size_t page = 4096;
constexpr int read_write = PROT_READ | PROT_WRITE;

void *map(std::size_t pages, int protection, int flags, int file = -1) {
    void *at =
        mmap(nullptr, pages * page, protection, flags | (file == -1 ? MAP_ANONYMOUS : 0), file, 0);
    return at == MAP_FAILED ? nullptr : at;
}

void *touched(void *at, std::size_t pages) {
    if (at != nullptr) {
        std::memset(at, 1, pages * page);
    }
    return at;
}

// A file of so many bytes without a name.
int file_of(std::size_t size, int mode) {
    char path[] = "/tmp/cushim-XXXXXX";
    const int written = mkstemp(path);
    for (std::size_t i = 0; i < size; ++i) {
        if (write(written, "x", 1) != 1) {
            std::perror("write");
        }
    }
    const int file = open(path, mode);
    unlink(path);
    close(written);
    return file;
}

// Pages with these protections, one after the other; -1 is a hole.
template <class... Protections>
void *pages_of(Protections... protections) {
    auto *start = static_cast<char *>(
        touched(map(sizeof...(protections), read_write, MAP_PRIVATE), sizeof...(protections)));
    std::size_t at = 0;
    for (const int protection : {protections...}) {
        if (protection == -1) {
            munmap(start + at, page);
        } else {
            mprotect(start + at, page, protection);
        }
        at += page;
    }
    return start;
}

void *page_of(void *address) {
    return reinterpret_cast<void *>(reinterpret_cast<std::size_t>(address) / page * page);
}

const char literal[page + 1] = "text that the program only reads";
char zeros[2 * page];

} // namespace

std::vector<HostRange> host_ranges() {
    static char *const heap = static_cast<char *>(std::malloc(2 * page));
    void *const stack = __builtin_frame_address(0);
    auto *mixed = static_cast<char *>(pages_of(PROT_READ, read_write, PROT_READ));
    const int file = file_of(2 * page, O_RDONLY), written = file_of(2 * page, O_RDWR),
              half = file_of(page, O_RDWR), zero = open("/dev/zero", O_RDWR);
    const int memory = memfd_create("cushim", MFD_CLOEXEC);
    if (memory != -1 && ftruncate(memory, 2 * page) != 0) {
        std::perror("ftruncate");
    }
    return {
        {"touched", touched(map(2, read_write, MAP_PRIVATE), 2), 2 * page},
        {"untouched", map(2, read_write, MAP_PRIVATE), 2 * page},
        {"populated", map(2, read_write, MAP_PRIVATE | MAP_POPULATE), 2 * page},
        {"without a reserve", map(2, read_write, MAP_PRIVATE | MAP_NORESERVE), 2 * page},
        {"shared", map(2, read_write, MAP_SHARED), 2 * page},
        {"executable", map(2, read_write | PROT_EXEC, MAP_PRIVATE), 2 * page},
        {"write-only", map(2, PROT_WRITE, MAP_PRIVATE), 2 * page},
        {"write-only, touched", touched(map(2, PROT_WRITE, MAP_PRIVATE), 2), 2 * page},
        {"read-only", map(2, PROT_READ, MAP_PRIVATE), 2 * page},
        {"read-only, touched", pages_of(PROT_READ, PROT_READ), 2 * page},
        {"read-only, shared", map(2, PROT_READ, MAP_SHARED), 2 * page},
        {"read and execute", pages_of(PROT_READ | PROT_EXEC, PROT_READ | PROT_EXEC), 2 * page},
        {"execute-only", pages_of(PROT_EXEC), page},
        {"no access", map(2, PROT_NONE, MAP_PRIVATE), 2 * page},
        {"no access, touched", pages_of(PROT_NONE, PROT_NONE), 2 * page},
        {"file, read-only", map(2, PROT_READ, MAP_PRIVATE, file), 2 * page},
        {"file, read-only, shared", map(2, PROT_READ, MAP_SHARED, file), 2 * page},
        {"file, private", map(2, read_write, MAP_PRIVATE, file), 2 * page},
        {"file, private, touched", touched(map(2, read_write, MAP_PRIVATE, file), 2), 2 * page},
        {"writable file, read-only", map(2, PROT_READ, MAP_PRIVATE, written), 2 * page},
        {"writable file, read-only, shared", map(2, PROT_READ, MAP_SHARED, written), 2 * page},
        {"writable file, shared", map(2, read_write, MAP_SHARED, written), 2 * page},
        {"past the end of a file", map(2, read_write, MAP_SHARED, half), 2 * page},
        {"past the end of a file, read-only", map(2, PROT_READ, MAP_SHARED, half), 2 * page},
        {"/dev/zero", map(2, read_write, MAP_PRIVATE, zero), 2 * page},
        {"/dev/zero, read-only", map(2, PROT_READ, MAP_PRIVATE, zero), 2 * page},
        {"memory file", memory == -1 ? nullptr : map(2, read_write, MAP_SHARED, memory), 2 * page},
        {"memory file, read-only", memory == -1 ? nullptr : map(2, PROT_READ, MAP_SHARED, memory),
         2 * page},
        {"read-only, then writable", pages_of(PROT_READ, read_write), 2 * page},
        {"writable, then read-only", pages_of(read_write, PROT_READ), 2 * page},
        {"writable, read-only, writable", pages_of(read_write, PROT_READ, read_write), 3 * page},
        {"writable, then no access", pages_of(read_write, PROT_NONE), 2 * page},
        {"read-only, then no access", pages_of(PROT_READ, PROT_NONE), 2 * page},
        {"writable, then a hole", pages_of(read_write, -1), 2 * page},
        {"a hole, then writable", pages_of(-1, read_write), 2 * page},
        {"writable, a hole, writable", pages_of(read_write, -1, read_write), 3 * page},
        {"read-only, then a hole", pages_of(PROT_READ, -1), 2 * page},
        {"the writable page between read-only ones", mixed + page, page},
        {"the end of the writable page", mixed + 2 * page - 100, 100},
        {"one byte of a read-only page", mixed + 7, 1},
        {"across both kinds of pages", mixed + 2 * page - 50, 100},
        {"a byte of a hole", static_cast<char *>(pages_of(read_write, -1)) + page, 1},
        {"stack", page_of(stack), page},
        {"64 bytes of the stack", stack, 64},
        {"heap", heap, 2 * page},
        {"100 bytes of the heap", heap + 100, 100},
        {"zeros of the program", zeros, sizeof zeros},
        {"constants of the program", const_cast<char *>(literal), 100},
        {"string literal", const_cast<char *>("a literal that is long enough"), 16},
        {"code of the program", page_of(reinterpret_cast<void *>(&host_ranges)), page},
        {"small address", reinterpret_cast<void *>(page), page},
        {"address of the kernel", reinterpret_cast<void *>(~std::size_t(0) - 8 * page + 1), page},
        {"not a canonical address", reinterpret_cast<void *>(std::size_t(1) << 60), page},
    };
}

} // namespace record
