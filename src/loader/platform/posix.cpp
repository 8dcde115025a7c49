/* Operating system services: Linux and other ELF systems. */
#if !defined(_WIN32)

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "platform.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#include <unistd.h>

namespace cushim::platform {

namespace {

#if defined(__x86_64__)
#define CUSHIM_MULTIARCH "x86_64-linux-gnu"
#define CUSHIM_TARGET "targets/x86_64-linux/lib"
#elif defined(__aarch64__)
#define CUSHIM_MULTIARCH "aarch64-linux-gnu"
#define CUSHIM_TARGET "targets/sbsa-linux/lib"
#else
#define CUSHIM_MULTIARCH "."
#define CUSHIM_TARGET "lib"
#endif

/* Keeps the end of a message that is too long, since the reason follows the path. */
void say(Text &text, const char *words) {
    const size_t length = strlen(words);
    const bool fits = length < sizeof text.chars;
    snprintf(text.chars, sizeof text.chars, "%s%s", fits ? "" : "...",
             fits ? words : words + length - (sizeof text.chars - 4));
}

/* A file name, and whether the name of a loaded library begins with it. */
struct LoadedName {
    const char *start;
    size_t length;
};

/* Compares byte by byte. Another thread may have written the name in dlopen, under a lock that
 * ThreadSanitizer does not see, and its checked C library functions would report a race. */
__attribute__((no_sanitize("thread"))) int is_loaded(dl_phdr_info *info, size_t, void *user) {
    const LoadedName &wanted = *static_cast<LoadedName *>(user);
    const volatile char *file = info->dlpi_name;
    for (const volatile char *end = file; *end != '\0'; ++end) {
        if (*end == '/') {
            file = end + 1;
        }
    }
    size_t same = 0;
    while (same < wanted.length && file[same] == wanted.start[same]) {
        ++same;
    }
    return same == wanted.length ? 1 : 0;
}

/* Whether RTLD_NOLOAD can succeed: if the library is not loaded, it searches the disk. Looks for
 * "libcuda.so" instead of libcuda.so.1, since drivers' files are named libcuda.so.550.163.01. */
bool may_be_loaded(const char *name) {
    const char *ending = strstr(name, ".so");
    LoadedName wanted = {name,
                         ending != nullptr ? static_cast<size_t>(ending - name) + 3 : strlen(name)};
    return dl_iterate_phdr(is_loaded, &wanted) != 0;
}

/* Whether the dynamic linker's message means that the file itself was not found. In every language,
 * it begins with the file and ends with the system's text for the error. */
bool says_missing(const char *message, const char *path) {
    const char *named = strstr(message, path);
    return named != nullptr && (named == message || named[-1] == ' ') &&
           named[strlen(path)] == ':' && strstr(named, strerror(ENOENT)) != nullptr;
}

} // namespace

Module open_library(const char *path, OpenMode mode, OpenError &error) {
    if (mode == OpenMode::already_loaded && !may_be_loaded(path)) {
        return nullptr;
    }
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

namespace {

/* Copies the name that the dynamic linker stores; true if it exists and fits. Another thread may
 * have written it, under a lock that ThreadSanitizer does not see. */
__attribute__((no_sanitize("thread"))) bool copy_name(const link_map *map, char *name,
                                                      size_t size) {
    const volatile char *from = map != nullptr ? map->l_name : nullptr;
    size_t length = 0;
    while (from != nullptr && length < size && from[length] != '\0') {
        name[length] = from[length];
        ++length;
    }
    if (length == size) {
        return false;
    }
    name[length] = '\0';
    return length != 0;
}

} // namespace

char *path_of_module(Module module) {
    struct link_map *map = nullptr;
    char name[PATH_MAX];
    if (dlinfo(module, RTLD_DI_LINKMAP, &map) != 0 || !copy_name(map, name, sizeof name)) {
        return nullptr;
    }
    return name[0] == '/' ? strdup(name) : realpath(name, nullptr);
}

bool contains_own_code(Module module) {
    Dl_info own;
    struct link_map *map = nullptr, *own_map = nullptr;
    return dlinfo(module, RTLD_DI_LINKMAP, &map) == 0 &&
           dladdr1(reinterpret_cast<void *>(&contains_own_code), &own,
                   reinterpret_cast<void **>(&own_map), RTLD_DL_LINKMAP) != 0 &&
           map == own_map;
}

/* The folders of the dynamic linker's search: LD_LIBRARY_PATH at process start, the program's run
 * path, the system's folders. The cache of ldconfig is not included. */
#if defined(__GLIBC__)
bool visit_search_path(bool (*visit)(const char *folder, void *user), void *user) {
    bool found = false;
    void *program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
    Dl_serinfo size;
    if (program == nullptr) {
        return false;
    }
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) {
        Dl_serinfo *folders = static_cast<Dl_serinfo *>(malloc(size.dls_size));
        if (folders != nullptr) {
            folders->dls_size = size.dls_size;
            folders->dls_cnt = size.dls_cnt;
        }
        if (folders != nullptr && dlinfo(program, RTLD_DI_SERINFO, folders) == 0) {
            for (unsigned int i = 0; i < folders->dls_cnt && !found; ++i) {
                found = visit(folders->dls_serpath[i].dls_name, user);
            }
        }
        free(folders);
    }
    dlclose(program);
    return found;
}
#else
bool visit_search_path(bool (*)(const char *folder, void *user), void *) {
    return false;
}
#endif

const char *environment(const char *name) {
    const char *value = secure_getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

#if defined(__linux__)
bool is_initialized() {
    // clearenv() sets environ to null again, and argv[0] may be empty.
    return environ != nullptr || *program_invocation_name != '\0';
}
#endif

void list_folder(const char *folder, const char *prefix, void (*visit)(const char *name, void *),
                 void *user) {
    DIR *directory = opendir(folder);
    if (directory == nullptr) {
        return;
    }
    const size_t length = strlen(prefix);
    while (const dirent *entry = readdir(directory)) {
        if (strncmp(entry->d_name, prefix, length) == 0) {
            visit(entry->d_name, user);
        }
    }
    closedir(directory);
}

namespace {

// A pthread key instead of a thread-local variable, which would make every program that links the
// loader depend on the dynamic linker's __tls_get_addr. Stores the key plus one; 0: not created.
unsigned long error_key = 0;

unsigned long own_error_key() {
    unsigned long key = __atomic_load_n(&error_key, __ATOMIC_ACQUIRE);
    pthread_key_t fresh;
    if (key != 0 || pthread_key_create(&fresh, nullptr) != 0) {
        return key;
    }
    if (__atomic_compare_exchange_n(&error_key, &key, static_cast<unsigned long>(fresh) + 1, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return static_cast<unsigned long>(fresh) + 1;
    }
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
    if (key != 0) {
        pthread_setspecific(key_of(key), reinterpret_cast<void *>(static_cast<size_t>(error)));
    }
}

unsigned int known_generation = 0;

namespace {

unsigned int generation_of_child = 0;
int generation_watched = 0;

/* In two steps that may run twice, since two threads may have registered the handlers. A child is
 * not identified by its process id, which in a new PID namespace may equal its parent's. */
void before_fork() {
    const unsigned int child = __atomic_load_n(&known_generation, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&generation_of_child, child, __ATOMIC_RELAXED);
}

void after_fork_in_child() {
    const unsigned int own = __atomic_load_n(&generation_of_child, __ATOMIC_RELAXED);
    __atomic_store_n(&known_generation, own, __ATOMIC_RELAXED);
}

/* The C library removes the handlers when the module is unloaded, as it does with exit handlers.
 * The flag is set afterwards, so that no thread relies on handlers that are not registered yet. */
void watch_forks() {
    if (pthread_atfork(before_fork, nullptr, after_fork_in_child) == 0) {
        __atomic_store_n(&generation_watched, 1, __ATOMIC_RELEASE);
    }
}

} // namespace

unsigned int fork_generation() {
    if (__atomic_load_n(&generation_watched, __ATOMIC_ACQUIRE) == 0) [[unlikely]] {
        watch_forks();
    }
    return __atomic_load_n(&known_generation, __ATOMIC_RELAXED);
}

void yield() {
    sched_yield();
}

bool at_exit(void (*function)()) {
    pin_own_module();
    return atexit(function) == 0;
}

void pin_module_of(const void *address) {
    Dl_info info;
    struct link_map *map = nullptr;
    if (dladdr1(address, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) != 0 &&
        map != nullptr && map->l_name != nullptr &&
        map->l_name[0] != '\0') { // "": the program itself
        dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

void pin_own_module() {
    pin_module_of(reinterpret_cast<void *>(&pin_own_module));
}

#if defined(__linux__)
char *path_of_program() {
    char path[PATH_MAX];
    const ssize_t length =
        getauxval(AT_SECURE) == 0 ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    return length > 0 ? strndup(path, static_cast<size_t>(length)) : nullptr;
}
#else
char *path_of_program() {
    return nullptr;
}
#endif

const char *const driver_names[] = {"libcuda.so.1", nullptr};

#if CUSHIM_CUDA_MAJOR == 11
const char *const runtime_names[] = {"libcudart.so.11.0", nullptr};
#else
const char *const runtime_names[] = {"libcudart.so." CUSHIM_TEXT(CUSHIM_CUDA_MAJOR), nullptr};
#endif

const char *const known_driver_folders[] = {
    "/usr/lib/wsl/lib",                     // WSL 2
    "/run/opengl-driver/lib",               // NixOS
    "/usr/local/nvidia/lib64",              // containers
    "/usr/local/nvidia/lib",                //
    "/usr/lib/" CUSHIM_MULTIARCH "/tegra",  // Jetson
    "/usr/lib/" CUSHIM_MULTIARCH "/nvidia", //
    "/usr/lib/" CUSHIM_MULTIARCH,           // the default search includes these, but it may have
    "/usr/lib64",                           // stopped at a link stub before
    "/usr/lib",                             //
    nullptr,
};

const char *const toolkit_folders[] = {"lib64", CUSHIM_TARGET, "lib", nullptr};
const char *const environment_folders[] = {"lib", CUSHIM_TARGET, nullptr};
const char *const python_folder = "lib";
const char *const toolkit_parent = "/usr/local";
const char *const runtime_packages[] = {"nvidia/cu" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) "/lib",
                                        "nvidia/cuda_runtime/lib", nullptr};

bool is_separator(char c) {
    return c == '/';
}

} // namespace cushim::platform
#endif
