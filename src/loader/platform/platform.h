/* Operating system services for the loader.
 *
 * Only the sources of this folder include headers of the operating system. Nothing here prints.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cushim/loader.h>

/* The build defines CUSHIM_CUDA_MAJOR and CUSHIM_CUDA_VERSION, from the headers. */
#define CUSHIM_TEXT_(token) #token
#define CUSHIM_TEXT(token) CUSHIM_TEXT_(token)

/* The calling convention of CUDA functions. */
#if defined(_WIN32)
#define CUSHIM_CUDA_CALL __stdcall
#else
#define CUSHIM_CUDA_CALL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The system's handle of a shared library. */
typedef void *Module;

/* A fixed buffer for messages and paths. */
typedef struct {
    char chars[512];
} Text;

typedef enum {
    CUSHIM_OPEN_LOAD,          /* loads the file, or finds it by the system's search */
    CUSHIM_OPEN_SYSTEM,        /* the same; on Windows a file name is only looked up in the system
                                  folder */
    CUSHIM_OPEN_ALREADY_LOADED /* only if the process has it already */
} OpenMode;

/* Properties of a file that can be determined without loading it, and, from the second group on,
 * reasons why it cannot be loaded. Truncated: a library with damage that could crash the process
 * while loading. */
typedef enum {
    CUSHIM_FILE_LIBRARY,
    CUSHIM_FILE_MISSING,
    CUSHIM_FILE_FOLDER,
    CUSHIM_FILE_NOT_A_LIBRARY,
    CUSHIM_FILE_TRUNCATED,
    CUSHIM_FILE_WRONG_ARCHITECTURE,

    CUSHIM_FILE_EMPTY,
    CUSHIM_FILE_UNREADABLE,
    CUSHIM_FILE_NO_DESCRIPTOR,   /* the process has too many open files */
    CUSHIM_FILE_NOT_EXECUTABLE,  /* its file system is mounted with noexec */
    CUSHIM_FILE_LACKS_LIBRARY,   /* a library that it needs was not found */
    CUSHIM_FILE_OTHER_C_LIBRARY, /* built for another C library than that of the process */
} FileKind;

/* Why a library could not be opened: the system's message, and whether the reason is only that the
 * file is missing. A file that lacks another library is not missing. CUSHIM_FILE_LIBRARY: only the
 * message says why. */
typedef struct {
    Text message;
    bool missing;
    FileKind kind;
} OpenError;

/* Opens a library; NULL on failure. A path without a folder uses the system's default search; on
 * Windows only the system folder and the program's folder. */
Module cushim_platform_open(const char *path, OpenMode mode, OpenError *error);

/* Whether CUSHIM_OPEN_LOAD and CUSHIM_OPEN_SYSTEM return a copy of a file name that the process has
 * already loaded, wherever from. */
extern const bool cushim_platform_opens_loaded_first;

/* Closes a library from cushim_platform_open(). For unsuitable candidates, so that later searches
 * of the process (such as libcudart's for libcuda.so.1) do not find them in memory, and for a
 * library that another search opened once more. */
void cushim_platform_close(Module module);

/* The function that a library exports under this name; NULL if it exports none. */
cushim_function cushim_platform_find_function(Module module, const char *name);

/* Whether the module exports the function with this symbol version. Also true if its symbols have
 * no versions, or if the system knows none. */
bool cushim_platform_may_have_version(Module module, const char *function, const char *version);

/* The absolute path that the system loaded the module from, on the heap; NULL if unknown. */
char *cushim_platform_path_of_module(Module module);

/* Whether the module contains this code. */
bool cushim_platform_contains_own_code(Module module);

/* `detail` receives the reason if it is not a library, otherwise an empty text. */
FileKind cushim_platform_inspect_file(const char *path, Text *detail);

/* Where the system's search may find a file. */
typedef enum {
    CUSHIM_FOUND_FIRST,  /* in a folder that it searches before its cache: the search ends here */
    CUSHIM_FOUND_LATER,  /* named by its cache, or in a system folder */
    CUSHIM_FOUND_VARIANT /* for some processors only */
} FoundPlace;

/* Calls `visit` for each path at which the system's search for a file name may find a file, whether
 * one exists there or not. Ends and returns true as soon as `visit` returns true. */
bool cushim_platform_visit_system_search(
    const char *name, bool (*visit)(const char *path, FoundPlace place, void *user), void *user);

/* An environment variable; NULL if it is unset or empty. On POSIX systems also NULL in a process
 * with more rights than the user who started it. */
const char *cushim_platform_environment(const char *name);

/* Whether the C library is initialized. On Linux this happens after the functions of
 * .preinit_array. Before that no library may be opened: dlopen would initialize the libraries that
 * the opened one depends on, and pass the C library a null environment, which the process then
 * keeps. */
#if defined(__linux__)
bool cushim_platform_is_initialized(void);
#else
static inline bool cushim_platform_is_initialized(void) {
    return true;
}
#endif

/* Calls `visit` for each entry of a folder whose name starts with `prefix`. */
void cushim_platform_list_folder(const char *folder, const char *prefix,
                                 void (*visit)(const char *name, void *user), void *user);

/* A number per thread: the runtime's last error if the runtime is absent. */
int cushim_platform_thread_error(void);
void cushim_platform_set_thread_error(int error);

/* The number of forks between the first process and this one, counted from the first call. */
unsigned int cushim_platform_fork_generation(void);

/* The latest result of cushim_platform_fork_generation() in this process. */
extern unsigned int cushim_platform_known_generation;

void cushim_platform_yield(void);

/* Registers a function for process exit; true on success. */
bool cushim_platform_at_exit(void (*function)(void));

/* Whether the process is ending such that other modules may be unloaded already, and threads may
 * have ended while they held locks. Always false if functions for process exit run before that. */
#if defined(_WIN32)
bool cushim_platform_is_ending(void);
#else
static inline bool cushim_platform_is_ending(void) {
    return false;
}
#endif

/* Prevents the module that contains this constant or variable from being unloaded. */
void cushim_platform_pin_module_of(const void *address);
void cushim_platform_pin_own_module(void);

/* The path of the program, on the heap; NULL if unknown, and on POSIX systems in a process with
 * more rights than the user who started it: another name of the program may be in any folder. */
char *cushim_platform_path_of_program(void);

/* Calls `visit` for the absolute paths by which the program was started, symbolic links included,
 * and for its own: a Python of a virtual environment may be a link to one elsewhere. On POSIX
 * systems none in a process with more rights than the user who started it. Ends and returns true as
 * soon as `visit` returns true. */
bool cushim_platform_visit_program_paths(bool (*visit)(const char *path, void *user), void *user);

/* The path of the module that contains this constant or variable, on the heap. NULL if unknown, and
 * on POSIX systems in a process with more rights than the user who started it. */
char *cushim_platform_path_of_module_with(const void *address);

/* File names of the driver and the runtime, and folders; terminated by NULL. */
extern const char *const cushim_platform_driver_names[];   /* "libcuda.so.1" */
extern const char *const cushim_platform_runtime_names[];  /* "libcudart.so.13" */
extern const char *const cushim_platform_driver_folders[]; /* empty on Windows */

/* Folders below the root of a toolkit or environment that may contain libraries; terminated by
 * NULL. */
extern const char *const cushim_platform_toolkit_folders[];     /* "lib64", ... */
extern const char *const cushim_platform_environment_folders[]; /* "lib", ... */
extern const char *const cushim_platform_python_folder;         /* where "python3*" folders are */
extern const char *const cushim_platform_toolkit_parent;        /* "/usr/local"; NULL: none */
extern const char *const cushim_platform_runtime_packages[];    /* "nvidia/cu13/lib", ... in
                                                                   site-packages */

bool cushim_platform_is_separator(char c);

#ifdef __cplusplus
}
#endif
