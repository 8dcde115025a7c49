// Operating system services for the simulator: POSIX, with Linux memory files where available.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/platform.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <pthread.h>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace sim::platform {
namespace {

int new_memory_file() {
#ifdef MFD_CLOEXEC
    return memfd_create("cushim-sim", MFD_CLOEXEC | MFD_ALLOW_SEALING);
#else
    static unsigned int count = 0;
    const std::string name =
        "/cushim-sim-" + std::to_string(getpid()) + "-" + std::to_string(count++);
    const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0) {
        shm_unlink(name.c_str());
    }
    return file;
#endif
}

void *map_pages(void *where, std::size_t size, int protection, int flags) {
    void *pages = mmap(where, size, protection, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}

} // namespace

File File::create(std::size_t size) {
    File file = adopt(new_memory_file());
    if (file.valid() && ftruncate(static_cast<int>(file.handle_), static_cast<off_t>(size)) != 0) {
        return {};
    }
#ifdef F_ADD_SEALS
    (void)fcntl(static_cast<int>(file.handle_), F_ADD_SEALS,
                F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
#endif
    return file;
}

File File::adopt(std::intptr_t handle) noexcept {
    File file;
    file.handle_ = handle < 0 ? invalid : handle;
    return file;
}

void File::close() noexcept {
    if (valid()) {
        ::close(static_cast<int>(handle_));
    }
}

File File::duplicate() const {
    return adopt(valid() ? fcntl(static_cast<int>(handle_), F_DUPFD_CLOEXEC, 0) : -1);
}

std::size_t File::size() const {
    struct stat status {};
    if (!valid() || fstat(static_cast<int>(handle_), &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0;
    }
#ifdef F_GET_SEALS
    // Only memory files have seals; an ordinary file is rejected.
    if (fcntl(static_cast<int>(handle_), F_GET_SEALS) == -1 && errno == EINVAL) {
        return 0;
    }
#endif
    return static_cast<std::size_t>(status.st_size);
}

bool File::can_shrink() const noexcept {
#ifdef F_GET_SEALS
    return (fcntl(static_cast<int>(handle_), F_GET_SEALS) & F_SEAL_SHRINK) == 0;
#else
    return false;
#endif
}

std::byte *File::map(std::size_t offset, std::size_t size) const {
    void *view = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      static_cast<int>(handle_), static_cast<off_t>(offset));
    return view == MAP_FAILED ? nullptr : static_cast<std::byte *>(view);
}

bool File::map_at(std::byte *where, std::size_t offset, std::size_t size, bool accessible) const {
    const int protection = accessible ? PROT_READ | PROT_WRITE : PROT_NONE;
    return mmap(where, size, protection, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                static_cast<int>(handle_), static_cast<off_t>(offset)) != MAP_FAILED;
}

void File::discard(std::size_t offset, std::size_t size) const {
#ifdef FALLOC_FL_PUNCH_HOLE
    if (fallocate(static_cast<int>(handle_), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) {
        return;
    }
#endif
    const std::size_t from = offset & ~(page_size() - 1);
    if (std::byte *view = map(from, size + (offset - from))) {
        __builtin_memset(view + (offset - from), 0, size);
        unmap(view, size + (offset - from));
    }
}

void unmap(std::byte *view, std::size_t size) {
    munmap(view, size);
}

std::size_t page_size() noexcept {
    static const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

std::size_t map_granularity() noexcept {
    return page_size();
}

std::size_t host_memory() noexcept {
    return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page_size();
}

void *reserve(std::size_t size) {
    return map_pages(nullptr, size, PROT_NONE, MAP_NORESERVE);
}

bool commit(void *pages, std::size_t size) {
    return mprotect(pages, size, PROT_READ | PROT_WRITE) == 0;
}

void decommit(void *pages, std::size_t size) {
    map_pages(pages, size, PROT_NONE, MAP_NORESERVE | MAP_FIXED);
}

std::byte *reserve_view(std::size_t size) {
    return static_cast<std::byte *>(reserve(size));
}

void unreserve_view(std::byte *view, std::size_t size) {
    munmap(view, size);
}

void unmap_at(std::byte *where, std::size_t size) {
    decommit(where, size);
}

void protect(std::byte *where, std::size_t size, Access access) {
    mprotect(where, size,
             access == Access::none   ? PROT_NONE
             : access == Access::read ? PROT_READ
                                      : PROT_READ | PROT_WRITE);
}

bool is_mapped(const void *begin, std::size_t size) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    std::uintptr_t at = address & ~(page_size() - 1);
    if (size > ~std::uintptr_t(0) - page_size() - address) {
        return false;
    }
    for (unsigned char resident[256]; at < address + size; at += sizeof resident * page_size()) {
        const std::size_t left = address + size - at;
        const std::size_t most = sizeof resident * page_size();
        if (mincore(reinterpret_cast<void *>(at), left < most ? left : most, resident) != 0) {
            return false;
        }
    }
    return true;
}

bool is_accessible(const void *begin, std::size_t size, Access access) noexcept {
    auto at = reinterpret_cast<std::uintptr_t>(begin);
    if (size > ~std::uintptr_t(0) - at) {
        return false;
    }
    const std::uintptr_t end = at + size;
    std::FILE *maps = std::fopen("/proc/self/maps", "re");
    if (maps == nullptr) {
        return true; // no descriptor is left, or there is no /proc
    }
    // In ascending order: "7f00-7f10 rw-p ...".
    char line[128];
    for (bool at_start = true; at < end && std::fgets(line, sizeof line, maps) != nullptr;) {
        std::uintptr_t first = 0, last = 0;
        char readable = '-', writable = '-';
        const bool read =
            at_start && std::sscanf(line, "%lx-%lx %c%c", &first, &last, &readable, &writable) == 4;
        at_start = std::strchr(line, '\n') != nullptr;
        if (!read || last <= at) {
            continue;
        }
        if (first > at || (access == Access::read ? readable != 'r' : writable != 'w')) {
            break;
        }
        at = last;
    }
    std::fclose(maps);
    return at >= end;
}

std::uint64_t process_id() noexcept {
    return static_cast<std::uint64_t>(getpid());
}

File open_of_process(std::uint64_t process, std::intptr_t handle) {
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(handle);
    return File::adopt(open(path.c_str(), O_RDWR | O_CLOEXEC));
}

#ifdef __linux__
namespace {

// 0 if it has no parent.
std::uint64_t parent_of(std::uint64_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text); // "7 (name) S 5 ...", the last is the parent
    std::istringstream after_name(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
    char state = 0;
    std::uint64_t parent = 0;
    after_name >> state >> parent;
    return parent;
}

} // namespace

std::vector<File> files_of_ancestors(std::size_t size) {
    std::vector<File> files;
    for (auto process = parent_of(process_id()); process > 1; process = parent_of(process)) {
        std::error_code error, ignored;
        std::filesystem::directory_iterator entry("/proc/" + std::to_string(process) + "/fd",
                                                  error);
        for (; !error && entry != end(entry); entry.increment(error)) {
            const std::string target = std::filesystem::read_symlink(*entry, ignored).string();
            if (!target.starts_with("/memfd:cushim-sim")) {
                continue;
            }
            File file = open_of_process(process, std::stol(entry->path().filename()));
            if (file.size() == size) {
                files.push_back(std::move(file));
            }
        }
    }
    return files;
}

std::string program_name() {
    return program_invocation_short_name;
}
#else
std::vector<File> files_of_ancestors(std::size_t) {
    return {};
}

std::string program_name() {
    return getprogname();
}
#endif

void with_exit_status([[maybe_unused]] void (*function)(int status)) {
#ifdef __GLIBC__
    stay_loaded();
    on_exit([](int status, void *given) { reinterpret_cast<void (*)(int)>(given)(status); },
            reinterpret_cast<void *>(function));
#endif
}

std::optional<FileIdentity> identity_of(std::intptr_t descriptor) noexcept {
    struct stat about = {};
    if (fstat(static_cast<int>(descriptor), &about) != 0) {
        return std::nullopt;
    }
    return FileIdentity{about.st_dev, about.st_ino};
}

bool has_environment(const char *name) {
    return std::getenv(name) != nullptr;
}

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

void around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
    pthread_atfork(before, in_parent, in_child);
}

void after_fork_in_child(void (*function)()) {
    pthread_atfork(nullptr, nullptr, function);
}

bool threads_run_at_exit() noexcept {
    return true;
}

void (*function_of(const std::string &library, const char *name, std::string &why))() {
    void *const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    void *const found = handle != nullptr ? dlsym(handle, name) : nullptr;
    if (found == nullptr) {
        const char *const text = dlerror();
        why = text != nullptr ? text : library + " has no function " + name;
    }
    return reinterpret_cast<void (*)()>(found);
}

void stay_loaded() noexcept {
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void *>(&stay_loaded), &own) != 0) {
        (void)dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

void exit_with(int status) {
#ifdef __GLIBC__
    std::exit(status); // called inside exit(), this runs the remaining handlers
#else
    std::fflush(nullptr);
    std::_Exit(status);
#endif
}

void sleep_us(std::uint64_t microseconds) {
    timespec left{static_cast<time_t>(microseconds / 1000000),
                  static_cast<long>(microseconds % 1000000 * 1000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

} // namespace sim::platform
