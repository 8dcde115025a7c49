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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#include <sys/statvfs.h>
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

/* Of a message that is too long, keeps the end: the reason stands there, after the path. */
static void say(Text *text, const char *words) {
    const size_t length = strlen(words);
    const bool fits = length < sizeof text->chars;
    snprintf(text->chars, sizeof text->chars, "%s%s", fits ? "" : "...",
             fits ? words : words + length - (sizeof text->chars - 4));
}

/* glibc copies the name that it searches for to the stack, where a long one has no room. */
static bool is_too_long(const char *path) {
    return strlen(path) > NAME_MAX && strchr(path, '/') == NULL;
}

/* Whether the dynamic linker's message means that the file itself was not found. In every language,
 * it begins with the file and ends with the system's text for the error. */
static bool says_missing(const char *message, const char *path) {
    const char *named = strstr(message, path);
    return named != NULL && (named == message || named[-1] == ' ') && named[strlen(path)] == ':' &&
           strstr(named, strerror(ENOENT)) != NULL;
}

/* Whether the file that the dynamic linker's message begins with is on a file system that is
 * mounted with noexec. */
static bool is_not_executable(const char *message) {
    char file[PATH_MAX];
    const size_t length = strcspn(message, ":");
    struct statvfs system;
    if (*message != '/' || length >= sizeof file) {
        return false;
    }
    memcpy(file, message, length);
    file[length] = '\0';
    return statvfs(file, &system) == 0 && (system.f_flag & ST_NOEXEC) != 0;
}

/* What the message of the dynamic linker, which ends with the system's text for an error, says
 * about a file that exists. */
static FileKind kind_in(const char *message) {
#if defined(__linux__) && !defined(__GLIBC__)
    // NVIDIA's libraries are built for glibc; musl lacks some of its functions.
    if (strstr(message, "symbol not found") != NULL || strstr(message, "ld-linux") != NULL) {
        return CUSHIM_FILE_OTHER_C_LIBRARY;
    }
#endif
    if (strstr(message, strerror(EMFILE)) != NULL || strstr(message, strerror(ENFILE)) != NULL) {
        return CUSHIM_FILE_NO_DESCRIPTOR;
    }
    if (strstr(message, strerror(EACCES)) != NULL) {
        return CUSHIM_FILE_UNREADABLE;
    }
    if (strstr(message, strerror(ENOENT)) != NULL) {
        return CUSHIM_FILE_LACKS_LIBRARY;
    }
    return is_not_executable(message) ? CUSHIM_FILE_NOT_EXECUTABLE : CUSHIM_FILE_LIBRARY;
}

Module cushim_platform_open(const char *path, OpenMode mode, OpenError *error) {
    error->message.chars[0] = '\0';
    error->missing = false;
    error->kind = CUSHIM_FILE_LIBRARY;
    if (is_too_long(path)) {
        say(&error->message, strerror(ENAMETOOLONG));
        return NULL;
    }
    const int flags =
        RTLD_NOW | RTLD_LOCAL | (mode == CUSHIM_OPEN_ALREADY_LOADED ? RTLD_NOLOAD : 0);
    void *module = dlopen(path, flags);
    if (module == NULL && mode != CUSHIM_OPEN_ALREADY_LOADED) {
        const char *message = dlerror();
        say(&error->message, message != NULL ? message : "the system gave no message");
        error->missing = says_missing(error->message.chars, path);
        error->kind = kind_in(error->message.chars);
    }
    return module;
}

const bool cushim_platform_opens_loaded_first = true;

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

bool cushim_platform_may_have_version(Module module, const char *function, const char *version) {
#ifdef __GLIBC__
    return dlvsym(module, function, version) != NULL;
#else
    (void)module, (void)function, (void)version;
    return true;
#endif
}

/* For functions that read what the dynamic linker has written, possibly for another thread, under a
 * lock: sanitizers see neither. */
#if defined(__clang__)
#define CUSHIM_READS_LINKER __attribute__((no_sanitize("thread", "memory")))
#else
#define CUSHIM_READS_LINKER __attribute__((no_sanitize("thread")))
#endif

/* Copies the name that the dynamic linker stores; true if it exists and fits. */
CUSHIM_READS_LINKER static bool copy_name(const struct link_map *map, char *name, size_t size) {
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

/* The dynamic section of this module; the linker defines it. NULL in a static program. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

/* Not by dladdr(), which searches all symbols of this module. */
CUSHIM_READS_LINKER bool cushim_platform_contains_own_code(Module module) {
    struct link_map *map = NULL;
    return dlinfo(module, RTLD_DI_LINKMAP, &map) == 0 && map->l_ld == _DYNAMIC;
}

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
    unsigned long key = CUSHIM_LOAD(&error_key);
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
    const unsigned long key = CUSHIM_LOAD(&error_key);
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

/* Two handlers count a fork, so that the result is right even if two threads registered them twice.
 * The process id cannot identify a child: in a new PID namespace, it may equal its parent's. */
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
        CUSHIM_STORE(&generation_watched, 1);
    }
}

unsigned int cushim_platform_fork_generation(void) {
    if (__builtin_expect(CUSHIM_LOAD(&generation_watched) == 0, 0)) {
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

#ifdef __GLIBC__
/* Uses the dynamic linker's own name, which is empty for the program. dladdr() returns argv[0] for
 * the program, which the parent process chose. */
void cushim_platform_pin_module_of(const void *address) {
    Dl_info module;
    void *map = NULL;
    char name[PATH_MAX];
    if (dladdr1(address, &module, &map, RTLD_DL_LINKMAP) != 0 &&
        copy_name(map, name, sizeof name)) {
        dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}
#else
void cushim_platform_pin_module_of(const void *address) {
    Dl_info module;
    // A program may have a name without a folder; a library has none.
    if (dladdr(address, &module) != 0 && module.dli_fname != NULL &&
        strchr(module.dli_fname, '/') != NULL) {
        dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}
#endif

/* Whether this module was linked with -z nodelete. */
static bool stays_loaded(void) {
    const ElfW(Dyn) *entry = _DYNAMIC;
    while (entry != NULL && entry->d_tag != DT_NULL && entry->d_tag != DT_FLAGS_1) {
        ++entry;
    }
    return entry != NULL && entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & DF_1_NODELETE) != 0;
}

static bool is_in_program(void) {
    void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (program == NULL) {
        return false;
    }
    const bool own = cushim_platform_contains_own_code(program);
    dlclose(program);
    return own;
}

/* The two tests are cheap. cushim_platform_pin_module_of() walks all symbols of the module. */
void cushim_platform_pin_own_module(void) {
    static const char own_address = 0;
    if (!stays_loaded() && !is_in_program()) {
        cushim_platform_pin_module_of(&own_address);
    }
}

#if defined(__linux__)
char *cushim_platform_path_of_program(void) {
    char path[PATH_MAX];
    const ssize_t length =
        getauxval(AT_SECURE) == 0 ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    return length > 0 ? strndup(path, (size_t)length) : NULL;
}

/* A relative path belongs to the folder at the start. The current one may be another now, which
 * others can write to. */
static bool visit_from_start(const char *path, bool (*visit)(const char *path, void *user),
                             void *user) {
    char full[PATH_MAX];
    const char *folder = cushim_platform_environment("PWD");
    if (path == NULL || strchr(path, '/') == NULL) {
        return false;
    }
    if (*path == '/') {
        return visit(path, user);
    }
    const int length =
        folder != NULL && *folder == '/' ? snprintf(full, sizeof full, "%s/%s", folder, path) : -1;
    return length > 0 && (size_t)length < sizeof full && visit(full, user);
}

bool cushim_platform_visit_program_paths(bool (*visit)(const char *path, void *user), void *user) {
    if (getauxval(AT_SECURE) != 0) {
        return false;
    }
    // The second is the script, if the program is its interpreter.
    const char *started = (const char *)getauxval(AT_EXECFN);
    char *own = cushim_platform_path_of_program();
    const bool done = visit_from_start(program_invocation_name, visit, user) ||
                      visit_from_start(started, visit, user) || visit_from_start(own, visit, user);
    free(own);
    return done;
}

char *cushim_platform_path_of_module_with(const void *address) {
    Dl_info module;
    if (getauxval(AT_SECURE) != 0) {
        return NULL;
    }
    // The program has the name that the parent process chose.
    const bool is_named =
        dladdr(address, &module) != 0 && module.dli_fname != NULL && *module.dli_fname == '/';
    return is_named ? realpath(module.dli_fname, NULL) : cushim_platform_path_of_program();
}
#else
char *cushim_platform_path_of_program(void) {
    return NULL;
}

bool cushim_platform_visit_program_paths(bool (*visit)(const char *path, void *user), void *user) {
    (void)visit, (void)user;
    return false;
}

char *cushim_platform_path_of_module_with(const void *address) {
    (void)address;
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
