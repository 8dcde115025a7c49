/* Operating system services: Linux and other ELF systems. */
#if !defined(_WIN32)

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "platform.h"

#include "atomics.h"

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

#if defined(__GLIBC__) && !defined(__USE_GNU)
#error                                                                                             \
    "cushim: system headers were included before this file, as by -include or a precompiled header. Compile it with -D_GNU_SOURCE."
#endif

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
static void say(Text *text, const char *words) {
    const size_t length = strlen(words);
    const bool fits = length < sizeof text->chars;
    snprintf(text->chars, sizeof text->chars, "%s%s", fits ? "" : "...",
             fits ? words : words + length - (sizeof text->chars - 4));
}

/* A file name, and whether the name of a loaded library begins with it. */
typedef struct CushimLoadedName {
    const char *start;
    size_t length;
} LoadedName;

/* Compares byte by byte. Another thread may have written the name in dlopen, under a lock that
 * ThreadSanitizer does not see, and its checked C library functions would report a race. */
__attribute__((no_sanitize("thread"))) static int is_loaded(struct dl_phdr_info *info, size_t size,
                                                            void *user) {
    (void)size;
    const LoadedName *wanted = (const LoadedName *)user;
    const volatile char *file = info->dlpi_name;
    for (const volatile char *end = file; *end != '\0'; ++end) {
        if (*end == '/') {
            file = end + 1;
        }
    }
    size_t same = 0;
    while (same < wanted->length && file[same] == wanted->start[same]) {
        ++same;
    }
    return same == wanted->length ? 1 : 0;
}

/* Whether RTLD_NOLOAD can succeed: if the library is not loaded, it searches the disk. Looks for
 * "libcuda.so" instead of libcuda.so.1, since drivers' files are named libcuda.so.550.163.01. */
static bool may_be_loaded(const char *name) {
    const char *ending = strstr(name, ".so");
    LoadedName wanted = {name, ending != NULL ? (size_t)(ending - name) + 3 : strlen(name)};
    return dl_iterate_phdr(is_loaded, &wanted) != 0;
}

/* Whether the dynamic linker's message means that the file itself was not found. In every language,
 * it begins with the file and ends with the system's text for the error. */
static bool says_missing(const char *message, const char *path) {
    const char *named = strstr(message, path);
    return named != NULL && (named == message || named[-1] == ' ') && named[strlen(path)] == ':' &&
           strstr(named, strerror(ENOENT)) != NULL;
}

Module cushim_platform_open(const char *path, OpenMode mode, OpenError *error) {
    error->message.chars[0] = '\0';
    error->missing = false;
    if (mode == CUSHIM_OPEN_ALREADY_LOADED && !may_be_loaded(path)) {
        return NULL;
    }
    const int flags =
        RTLD_NOW | RTLD_LOCAL | (mode == CUSHIM_OPEN_ALREADY_LOADED ? RTLD_NOLOAD : 0);
    void *module = dlopen(path, flags);
    if (module == NULL) {
        const char *message = dlerror();
        say(&error->message, message != NULL ? message : "not loaded in this process");
        error->missing = says_missing(error->message.chars, path);
    }
    return module;
}

void cushim_platform_close(Module module) {
    dlclose(module);
}

cushim_function cushim_platform_find_function(Module module, const char *name) {
    union {
        void *object;
        cushim_function function;
    } found;
    found.object = dlsym(module, name);
    return found.function;
}

/* Copies the name that the dynamic linker stores; true if it exists and fits. Another thread may
 * have written it, under a lock that ThreadSanitizer does not see. */
__attribute__((no_sanitize("thread"))) static bool copy_name(const struct link_map *map, char *name,
                                                             size_t size) {
    const volatile char *from = map != NULL ? map->l_name : NULL;
    size_t length = 0;
    while (from != NULL && length < size && from[length] != '\0') {
        name[length] = from[length];
        ++length;
    }
    if (length == size) {
        return false;
    }
    name[length] = '\0';
    return length != 0;
}

char *cushim_platform_path_of_module(Module module) {
    struct link_map *map = NULL;
    char name[PATH_MAX];
    if (dlinfo(module, RTLD_DI_LINKMAP, &map) != 0 || !copy_name(map, name, sizeof name)) {
        return NULL;
    }
    return name[0] == '/' ? strdup(name) : realpath(name, NULL);
}

/* An address in this module. */
static const char own_address = 0;

bool cushim_platform_contains_own_code(Module module) {
    Dl_info own;
    struct link_map *map = NULL, *own_map = NULL;
    return dlinfo(module, RTLD_DI_LINKMAP, &map) == 0 &&
           dladdr1(&own_address, &own, (void **)&own_map, RTLD_DL_LINKMAP) != 0 && map == own_map;
}

/* The folders of the dynamic linker's search: LD_LIBRARY_PATH at process start, the program's run
 * path, the system's folders. The cache of ldconfig is not included. */
#if defined(__GLIBC__)
bool cushim_platform_visit_search_path(bool (*visit)(const char *folder, void *user), void *user) {
    bool found = false;
    void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    Dl_serinfo size;
    if (program == NULL) {
        return false;
    }
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) {
        Dl_serinfo *folders = (Dl_serinfo *)malloc(size.dls_size);
        if (folders != NULL) {
            folders->dls_size = size.dls_size;
            folders->dls_cnt = size.dls_cnt;
        }
        if (folders != NULL && dlinfo(program, RTLD_DI_SERINFO, folders) == 0) {
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
bool cushim_platform_visit_search_path(bool (*visit)(const char *folder, void *user), void *user) {
    (void)visit, (void)user;
    return false;
}
#endif

const char *cushim_platform_environment(const char *name) {
    const char *value = secure_getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

#if defined(__linux__)
bool cushim_platform_is_initialized(void) {
    // clearenv() sets environ to null again, and argv[0] may be empty.
    return environ != NULL || *program_invocation_name != '\0';
}
#endif

void cushim_platform_list_folder(const char *folder, const char *prefix,
                                 void (*visit)(const char *name, void *user), void *user) {
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return;
    }
    const size_t length = strlen(prefix);
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (strncmp(entry->d_name, prefix, length) == 0) {
            visit(entry->d_name, user);
        }
    }
    closedir(directory);
}

// A pthread key instead of a thread-local variable, which would make every program that links the
// loader depend on the dynamic linker's __tls_get_addr. Stores the key plus one; 0: not created.
static unsigned long error_key = 0;

static unsigned long own_error_key(void) {
    unsigned long key = CUSHIM_LOAD(unsigned long, &error_key);
    pthread_key_t fresh;
    if (key != 0 || pthread_key_create(&fresh, NULL) != 0) {
        return key;
    }
    if (CUSHIM_REPLACE(&error_key, &key, (unsigned long)fresh + 1)) {
        return (unsigned long)fresh + 1;
    }
    pthread_key_delete(fresh);
    return key;
}

static pthread_key_t key_of(unsigned long stored) {
    return (pthread_key_t)(stored - 1);
}

int cushim_platform_thread_error(void) {
    const unsigned long key = CUSHIM_LOAD(unsigned long, &error_key);
    return key == 0 ? 0 : (int)(size_t)pthread_getspecific(key_of(key));
}

void cushim_platform_set_thread_error(int error) {
    const unsigned long key = own_error_key();
    if (key != 0) {
        pthread_setspecific(key_of(key), (void *)(size_t)error);
    }
}

unsigned int cushim_platform_known_generation = 0;

static unsigned int generation_of_child = 0;
static int generation_watched = 0;

/* In two steps that may run twice, since two threads may have registered the handlers. A child is
 * not identified by its process id, which in a new PID namespace may equal its parent's. */
static void before_fork(void) {
    const unsigned int child =
        __atomic_load_n(&cushim_platform_known_generation, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&generation_of_child, child, __ATOMIC_RELAXED);
}

static void after_fork_in_child(void) {
    const unsigned int own = __atomic_load_n(&generation_of_child, __ATOMIC_RELAXED);
    __atomic_store_n(&cushim_platform_known_generation, own, __ATOMIC_RELAXED);
}

/* The C library removes the handlers when the module is unloaded, as it does with exit handlers.
 * The flag is set afterwards, so that no thread relies on handlers that are not registered yet. */
static void watch_forks(void) {
    if (pthread_atfork(before_fork, NULL, after_fork_in_child) == 0) {
        CUSHIM_STORE(int, &generation_watched, 1);
    }
}

unsigned int cushim_platform_fork_generation(void) {
    if (__builtin_expect(CUSHIM_LOAD(int, &generation_watched) == 0, 0)) {
        watch_forks();
    }
    return __atomic_load_n(&cushim_platform_known_generation, __ATOMIC_RELAXED);
}

void cushim_platform_yield(void) {
    sched_yield();
}

bool cushim_platform_at_exit(void (*function)(void)) {
    cushim_platform_pin_own_module();
    return atexit(function) == 0;
}

void cushim_platform_pin_module_of(const void *address) {
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL &&
        map->l_name != NULL && map->l_name[0] != '\0') { // "": the program itself
        dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

void cushim_platform_pin_own_module(void) {
    cushim_platform_pin_module_of(&own_address);
}

#if defined(__linux__)
char *cushim_platform_path_of_program(void) {
    char path[PATH_MAX];
    const ssize_t length =
        getauxval(AT_SECURE) == 0 ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    return length > 0 ? strndup(path, (size_t)length) : NULL;
}
#else
char *cushim_platform_path_of_program(void) {
    return NULL;
}
#endif

const char *const cushim_platform_driver_names[] = {"libcuda.so.1", NULL};

#if CUSHIM_CUDA_MAJOR == 11
const char *const cushim_platform_runtime_names[] = {"libcudart.so.11.0", NULL};
#else
const char *const cushim_platform_runtime_names[] = {"libcudart.so." CUSHIM_TEXT(CUSHIM_CUDA_MAJOR),
                                                     NULL};
#endif

const char *const cushim_platform_driver_folders[] = {
    "/usr/lib/wsl/lib",                     // WSL 2
    "/run/opengl-driver/lib",               // NixOS
    "/usr/local/nvidia/lib64",              // containers
    "/usr/local/nvidia/lib",                //
    "/usr/lib/" CUSHIM_MULTIARCH "/tegra",  // Jetson
    "/usr/lib/" CUSHIM_MULTIARCH "/nvidia", //
    "/usr/lib/" CUSHIM_MULTIARCH,           // the default search includes these, but it may have
    "/usr/lib64",                           // stopped at a link stub before
    "/usr/lib",                             //
    NULL,
};

const char *const cushim_platform_toolkit_folders[] = {"lib64", CUSHIM_TARGET, "lib", NULL};
const char *const cushim_platform_environment_folders[] = {"lib", CUSHIM_TARGET, NULL};
const char *const cushim_platform_python_folder = "lib";
const char *const cushim_platform_toolkit_parent = "/usr/local";
const char *const cushim_platform_runtime_packages[] = {
    "nvidia/cu" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) "/lib", "nvidia/cuda_runtime/lib", NULL};

bool cushim_platform_is_separator(char c) {
    return c == '/';
}

#else
#include "platform.h" // C requires a declaration
#endif
