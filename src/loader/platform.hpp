/* The platform seam: everything that the loader asks of the operating system.
 *
 * Only platform_posix.cpp and platform_windows.cpp include system headers. Nothing here prints,
 * allocates with new, or needs a C++ runtime.
 */
#pragma once

#include <stddef.h>

/* The build defines CUSHIM_CUDA_MAJOR and CUSHIM_CUDA_VERSION: those of the headers. */
#define CUSHIM_TEXT_(token) #token
#define CUSHIM_TEXT(token) CUSHIM_TEXT_(token)

/* How CUDA's functions are called. */
#if defined(_WIN32)
#define CUSHIM_CUDA_CALL __stdcall
#else
#define CUSHIM_CUDA_CALL
#endif

namespace cushim::platform {

/* A shared library as the system hands it out. */
using Module = void *;

/* A fixed buffer for messages and paths. */
struct Text {
    char chars[512] = "";
};

enum class OpenMode {
    load,          // load the file, or find it by the system's search
    already_loaded // only if the process has it already
};

/* Why a library could not be opened: the system's message, and whether all it says is that there is
 * no such file. A file that lacks another library is there. */
struct OpenError {
    Text message;
    bool missing = false;
};

/* Opens a library; nullptr if that fails. A path without a folder means the system's default
 * search, on Windows: its own system folder and the program's folder. */
Module open_library(const char *path, OpenMode mode, OpenError &error);

/* Gives back what open_library gave. Only for a candidate that turned out to be none of ours, so
 * that later searches of the process (libcudart's for libcuda.so.1) do not find it in memory. */
void close_library(Module module);

void *find_symbol(Module module, const char *name);

/* The absolute path that the system loaded the module from, on the heap; nullptr where it does not
 * tell. */
char *path_of_module(Module module);

/* Whether the module is the one that this code is part of. */
bool contains_own_code(Module module);

/* What can be told of a file without loading it. Truncated: a library that is damaged such that
 * loading it could end the process. */
enum class FileKind { library, missing, folder, not_a_library, truncated, wrong_architecture };
FileKind inspect_file(const char *path, Text &detail);

/* Calls visit for each folder that the system's default search looks in, in its order, as far as it
 * tells: not all can. Ends early when visit returns true, and returns that. */
bool visit_search_path(bool (*visit)(const char *folder, void *user), void *user);

/* An environment variable; nullptr if it is unset or empty, and, on POSIX systems, always in a
 * process that runs with more rights than the user who started it. */
const char *environment(const char *name);

/* Whether the C library is initialised. On Linux that happens after the functions of .preinit_array
 * have run. Until then no library may be opened: dlopen initialises the libraries that the opened
 * one needs, and passes the C library a null environment, which the process then keeps. */
#if defined(__linux__)
bool is_initialized();
#else
constexpr bool is_initialized() {
    return true;
}
#endif

/* Calls visit for each entry of a folder whose name starts with prefix. */
void list_folder(const char *folder, const char *prefix, void (*visit)(const char *name, void *),
                 void *user);

/* One number per thread: the runtime's last error while there is no runtime. */
int thread_error();
void set_thread_error(int error);

/* Counts the forks between the first process and this one, from the first call on. */
unsigned int fork_generation();

/* The same for those that have called it before: what it answered last in this process. */
extern unsigned int known_generation;

/* Lets another thread run. */
void yield();

/* Calls the function when the process exits; true if that is arranged. */
bool at_exit(void (*function)());

/* Whether the process ends in such a way that other modules may be gone already, and threads
 * with locks that they held. Always false where the function of at_exit has been called before
 * they go. */
#if defined(_WIN32)
bool is_ending();
#else
constexpr bool is_ending() {
    return false;
}
#endif

/* Keeps the module that this code is part of from ever being unloaded. */
void pin_own_module();

/* File names of the libraries. */
extern const char *const driver_name;            // "libcuda.so.1"
extern const char *const runtime_name;           // "libcudart.so.13"
extern const char *const known_driver_folders[]; // ended by nullptr; empty on Windows

/* Folders below a toolkit's or an environment's root that hold the runtime; ended by nullptr. */
extern const char *const toolkit_folders[];     // "lib64", ...
extern const char *const environment_folders[]; // "lib", ...
extern const char *const python_folder;         // where "python3*" folders are: "lib"
extern const char *const toolkit_parent;        // "/usr/local"; nullptr: none
extern const char *const package_folders[];     // "nvidia/cu13/lib", ... in site-packages

bool is_separator(char c);

} // namespace cushim::platform
