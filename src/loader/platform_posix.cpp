/* The platform seam for Linux and other ELF systems. */
#if !defined(_WIN32)

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "platform.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cushim::platform {

namespace {

#if defined(__LP64__)
using Header = Elf64_Ehdr;
using Segment = Elf64_Phdr;
constexpr unsigned char own_class = ELFCLASS64;
#else
using Header = Elf32_Ehdr;
using Segment = Elf32_Phdr;
constexpr unsigned char own_class = ELFCLASS32;
#endif

#if defined(__x86_64__)
constexpr int own_machine = EM_X86_64;
#define CUSHIM_MULTIARCH "x86_64-linux-gnu"
#define CUSHIM_TARGET "targets/x86_64-linux/lib"
#elif defined(__aarch64__)
constexpr int own_machine = EM_AARCH64;
#define CUSHIM_MULTIARCH "aarch64-linux-gnu"
#define CUSHIM_TARGET "targets/sbsa-linux/lib"
#else
constexpr int own_machine = -1; // not checked: the system's own message has to do
#define CUSHIM_MULTIARCH "."
#define CUSHIM_TARGET "lib"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr unsigned char own_order = ELFDATA2LSB;
#else
constexpr unsigned char own_order = ELFDATA2MSB;
#endif

void say(Text &text, const char *words) {
    snprintf(text.chars, sizeof text.chars, "%s", words);
}

/* The start of a file: the header, and in every library built today the segments' list. */
struct Start {
    char bytes[1024];
    size_t size;
};

bool read_segment(int file, const Start &start, off_t at, Segment &segment) {
    if (at >= 0 && static_cast<unsigned long long>(at) + sizeof segment <= start.size) {
        memcpy(&segment, start.bytes + at, sizeof segment);
        return true;
    }
    return pread(file, &segment, sizeof segment, at) == static_cast<ssize_t>(sizeof segment);
}

/* Whether every segment that the header promises is inside the file: the dynamic linker maps them
 * unseen, and a process that touches a page beyond the end of the file dies of SIGBUS. */
bool segments_are_there(int file, const Start &start, const Header &header, off_t size) {
    for (unsigned int i = 0; i < header.e_phnum; ++i) {
        Segment segment;
        const off_t at = static_cast<off_t>(header.e_phoff) +
                         static_cast<off_t>(i) * static_cast<off_t>(header.e_phentsize);
        if (!read_segment(file, start, at, segment))
            return false;
        if (segment.p_type != PT_LOAD)
            continue;
        const auto end = segment.p_offset + segment.p_filesz;
        if (end < segment.p_offset || end > static_cast<unsigned long long>(size))
            return false;
    }
    return true;
}

FileKind inspect_elf(int file, off_t size, Text &detail) {
    Start start;
    const ssize_t got = pread(file, start.bytes, sizeof start.bytes, 0);
    start.size = got > 0 ? static_cast<size_t>(got) : 0;
    if (got < SELFMAG || memcmp(start.bytes, ELFMAG, SELFMAG) != 0) {
        say(detail, size == 0 ? "the file is empty" : "not a shared library (no ELF header)");
        return FileKind::not_a_library;
    }
    Header header;
    if (start.size < sizeof header) {
        say(detail, "the file is cut off inside its header");
        return FileKind::truncated;
    }
    memcpy(&header, start.bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != own_class || header.e_ident[EI_DATA] != own_order ||
        (own_machine >= 0 && header.e_machine != own_machine)) {
        snprintf(detail.chars, sizeof detail.chars,
                 "built for another architecture (ELF machine %u, %s bit)",
                 static_cast<unsigned int>(header.e_machine),
                 header.e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32");
        return FileKind::wrong_architecture;
    }
    if (!segments_are_there(file, start, header, size)) {
        snprintf(detail.chars, sizeof detail.chars,
                 "the file is cut off after %lld bytes, its header promises more",
                 static_cast<long long>(size));
        return FileKind::truncated;
    }
    return FileKind::library;
}

} // namespace

namespace {

/* A file name, and whether a loaded library's begins with it. */
struct LoadedName {
    const char *start;
    size_t length;
};

int is_loaded(dl_phdr_info *info, size_t, void *user) {
    const LoadedName &wanted = *static_cast<LoadedName *>(user);
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *file = slash != nullptr ? slash + 1 : info->dlpi_name;
    return strncmp(file, wanted.start, wanted.length) == 0 ? 1 : 0;
}

/* Whether RTLD_NOLOAD can find anything: where it does not, it goes and searches the disk. Looks for
 * "libcuda.so" of libcuda.so.1, since drivers' files are named libcuda.so.550.163.01. */
bool may_be_loaded(const char *name) {
    const char *ending = strstr(name, ".so");
    LoadedName wanted = {name,
                         ending != nullptr ? static_cast<size_t>(ending - name) + 3 : strlen(name)};
    return dl_iterate_phdr(is_loaded, &wanted) != 0;
}

/* Whether the dynamic linker's message is that the file itself was not found. It puts the file that
 * it speaks of in front, in every language, and the system's own words for the error behind. */
bool says_missing(const char *message, const char *path) {
    const char *named = strstr(message, path);
    return named != nullptr && (named == message || named[-1] == ' ') &&
           named[strlen(path)] == ':' && strstr(named, strerror(ENOENT)) != nullptr;
}

} // namespace

Module open_library(const char *path, OpenMode mode, OpenError &error) {
    if (mode == OpenMode::already_loaded && !may_be_loaded(path))
        return nullptr;
    const int flags = RTLD_NOW | RTLD_LOCAL | (mode == OpenMode::already_loaded ? RTLD_NOLOAD : 0);
    void *module = dlopen(path, flags);
    if (module == nullptr) {
        const char *message = dlerror();
        say(error.message, message != nullptr ? message : "not loaded in this process");
        error.missing = says_missing(error.message.chars, path);
    }
    return module;
}

void close_library(Module module) {
    dlclose(module);
}

void *find_symbol(Module module, const char *name) {
    return dlsym(module, name);
}

void path_of_module(Module module, char *path, size_t size) {
    path[0] = '\0';
    struct link_map *map = nullptr;
    if (dlinfo(module, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr)
        return;
    char resolved[PATH_MAX];
    const char *best = map->l_name;
    if (best[0] != '/' && realpath(best, resolved) != nullptr)
        best = resolved;
    const size_t length = strlen(best);
    if (length < size)
        memcpy(path, best, length + 1);
}

FileKind inspect_file(const char *path, Text &detail) {
    // O_NONBLOCK: opening a named pipe must not wait for its writer.
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        snprintf(detail.chars, sizeof detail.chars, "%s", strerror(errno));
        return errno == ENOENT || errno == ENOTDIR ? FileKind::missing : FileKind::not_a_library;
    }
    struct stat status;
    FileKind kind = FileKind::not_a_library;
    if (fstat(file, &status) != 0)
        say(detail, strerror(errno));
    else if (S_ISDIR(status.st_mode)) {
        say(detail, "a folder, not a library");
        kind = FileKind::folder;
    } else if (!S_ISREG(status.st_mode))
        say(detail, "not a regular file");
    else
        kind = inspect_elf(file, status.st_size, detail);
    close(file);
    return kind;
}

bool visit_search_path(bool (*visit)(const char *folder, void *user), void *user) {
    const char *rest = environment("LD_LIBRARY_PATH");
    while (rest != nullptr) {
        const size_t length = strcspn(rest, ":;");
        char folder[PATH_MAX] = "."; // what an empty piece means
        if (length > 0 && length < sizeof folder) {
            memcpy(folder, rest, length);
            folder[length] = '\0';
        }
        if (length < sizeof folder && visit(folder, user))
            return true;
        rest = rest[length] != '\0' ? rest + length + 1 : nullptr;
    }
    return false;
}

const char *environment(const char *name) {
    const char *value = secure_getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

void list_folder(const char *folder, const char *prefix, void (*visit)(const char *name, void *),
                 void *user) {
    DIR *directory = opendir(folder);
    if (directory == nullptr)
        return;
    const size_t length = strlen(prefix);
    while (const dirent *entry = readdir(directory))
        if (strncmp(entry->d_name, prefix, length) == 0)
            visit(entry->d_name, user);
    closedir(directory);
}

namespace {

// A key of the system's own rather than a thread-local variable, which would make every program that
// links the loader need the dynamic linker's __tls_get_addr. 0 means none yet: the key's number is
// stored plus one.
unsigned long error_key = 0;

unsigned long own_error_key() {
    unsigned long key = __atomic_load_n(&error_key, __ATOMIC_ACQUIRE);
    pthread_key_t fresh;
    if (key != 0 || pthread_key_create(&fresh, nullptr) != 0)
        return key;
    if (__atomic_compare_exchange_n(&error_key, &key, static_cast<unsigned long>(fresh) + 1, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return static_cast<unsigned long>(fresh) + 1;
    pthread_key_delete(fresh);
    return key;
}

pthread_key_t key_of(unsigned long stored) {
    return static_cast<pthread_key_t>(stored - 1);
}

} // namespace

int thread_error() {
    const unsigned long key = __atomic_load_n(&error_key, __ATOMIC_ACQUIRE);
    return key == 0 ? 0
                    : static_cast<int>(reinterpret_cast<size_t>(pthread_getspecific(key_of(key))));
}

void set_thread_error(int error) {
    const unsigned long key = own_error_key();
    if (key != 0)
        pthread_setspecific(key_of(key), reinterpret_cast<void *>(static_cast<size_t>(error)));
}

namespace {
unsigned int generation = 0;
int generation_watched = 0;
void count_fork() {
    __atomic_fetch_add(&generation, 1, __ATOMIC_RELAXED);
}
} // namespace

unsigned int fork_generation() {
    int expected = 0;
    if (__atomic_load_n(&generation_watched, __ATOMIC_ACQUIRE) == 0 &&
        __atomic_compare_exchange_n(&generation_watched, &expected, 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        pin_own_module();
        pthread_atfork(nullptr, nullptr, count_fork);
    }
    return __atomic_load_n(&generation, __ATOMIC_RELAXED);
}

bool at_exit(void (*function)()) {
    pin_own_module();
    return atexit(function) == 0;
}

void pin_own_module() {
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(&pin_own_module), &info) != 0 && info.dli_fname != nullptr)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

const char *const driver_name = "libcuda.so.1";

#if CUSHIM_CUDA_MAJOR == 11
const char *const runtime_name = "libcudart.so.11.0";
#else
const char *const runtime_name = "libcudart.so." CUSHIM_TEXT(CUSHIM_CUDA_MAJOR);
#endif

const char *const known_driver_folders[] = {
    "/usr/lib/wsl/lib",                     // WSL 2
    "/run/opengl-driver/lib",               // NixOS
    "/usr/local/nvidia/lib64",              // containers
    "/usr/local/nvidia/lib",                //
    "/usr/lib/" CUSHIM_MULTIARCH "/tegra",  // Jetson
    "/usr/lib/" CUSHIM_MULTIARCH "/nvidia", //
    "/usr/lib/" CUSHIM_MULTIARCH,           // where the default search goes, too: it may have
    "/usr/lib64",                           // ended at a link stub before it got there
    "/usr/lib",                             //
    nullptr,
};

const char *const toolkit_folders[] = {"lib64", CUSHIM_TARGET, "lib", nullptr};
const char *const environment_folders[] = {"lib", CUSHIM_TARGET, nullptr};
const char *const python_folders[] = {"lib", nullptr};
const char *const toolkit_parent = "/usr/local";
const char *const package_folders[] = {"nvidia/cu" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) "/lib",
                                       "nvidia/cuda_runtime/lib", nullptr};

bool is_separator(char c) {
    return c == '/';
}

} // namespace cushim::platform
#endif
