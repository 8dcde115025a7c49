#include "protected_pages.hpp"

#ifdef _WIN32
#include <windows.h>
#else
#include <sys/mman.h>
#endif

namespace sim_test {

#ifdef _WIN32

namespace {

DWORD native(Protection protection) {
    return protection == Protection::none   ? PAGE_NOACCESS
           : protection == Protection::read ? PAGE_READONLY
                                            : PAGE_READWRITE;
}

char *allocate(std::size_t bytes) {
    return static_cast<char *>(
        VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

} // namespace

ProtectedPages::~ProtectedPages() {
    VirtualFree(start_, 0, MEM_RELEASE);
}

void ProtectedPages::protect(std::size_t page, Protection protection) const {
    DWORD before = 0;
    VirtualProtect(start_ + page * size, size, native(protection), &before);
}

#else

namespace {

int native(Protection protection) {
    return protection == Protection::none   ? PROT_NONE
           : protection == Protection::read ? PROT_READ
                                            : PROT_READ | PROT_WRITE;
}

char *allocate(std::size_t bytes) {
    return static_cast<char *>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

} // namespace

ProtectedPages::~ProtectedPages() {
    munmap(start_, bytes());
}

void ProtectedPages::protect(std::size_t page, Protection protection) const {
    mprotect(start_ + page * size, size, native(protection));
}

#endif

ProtectedPages::ProtectedPages(const std::vector<Protection> &protections)
    : count_(protections.size()), start_(allocate(count_ * size)) {
    for (std::size_t page = 0; page < count_; ++page) {
        protect(page, protections[page]);
    }
}

} // namespace sim_test
