/* Operating system services for the loader.
 *
 * Only the sources of this folder include system headers. Nothing here prints,
 * allocates with new, or requires a C++ runtime.
 */
#pragma once

#include <stddef.h>

/* The build defines CUSHIM_CUDA_MAJOR and CUSHIM_CUDA_VERSION, from the headers. */
#define CUSHIM_TEXT_(token) #token
#define CUSHIM_TEXT(token) CUSHIM_TEXT_(token)

/* The calling convention of CUDA functions. */
#if defined(_WIN32)
#define CUSHIM_CUDA_CALL __stdcall
#else
#define CUSHIM_CUDA_CALL
#endif

namespace cushim::platform {

/* The system's handle of a shared library. */
using Module = void *;

/* A fixed buffer for messages and paths. */
struct Text {
    char chars[512] = "";
};

enum class OpenMode {
    load,          // loads the file, or finds it by the system's search
    system,        // the same; on Windows a file name is only looked up in the system folder
    already_loaded // only if the process has it already
};

/* Why a library could not be opened: the system's message, and whether the reason is only that the
 * file is missing. A file that lacks another library is not missing. */
struct OpenError {
    Text message;
    bool missing = false;
};

/* Opens a library; nullptr on failure. A path without a folder uses the system's default search; on
 * Windows only the system folder and the program's folder. */
Module open_library(const char *path, OpenMode mode, OpenError &error);

/* Closes a library from open_library(). Only for unsuitable candidates, so that later searches of
 * the process (such as libcudart's for libcuda.so.1) do not find them in memory. */
void close_library(Module module);

void *find_symbol(Module module, const char *name);

/* The absolute path that the system loaded the module from, on the heap; nullptr if unknown. */
char *path_of_module(Module module);

/* Whether the module contains this code. */
bool contains_own_code(Module module);

/* Properties of a file that can be determined without loading it. truncated: a library with damage
 * that could crash the process while loading. */
enum class FileKind { library, missing, folder, not_a_library, truncated, wrong_architecture };
FileKind inspect_file(const char *path, Text &detail);

/* Calls `visit` for each folder of the default system search, in order, as far as they are known.
 * Ends and returns true as soon as `visit` returns true. */
bool visit_search_path(bool (*visit)(const char *folder, void *user), void *user);

/* An environment variable; nullptr if it is unset or empty. On POSIX systems also nullptr in a
 * process with more rights than the user who started it. */
const char *environment(const char *name);

/* Whether the C library is initialized. On Linux this happens after the functions of
 * .preinit_array. Before that no library may be opened: dlopen would initialize the libraries that
 * the opened one depends on, and pass the C library a null environment, which the process then
 * keeps. */
#if defined(__linux__)
bool is_initialized();
#else
constexpr bool is_initialized() {
    return true;
}
#endif

/* Calls `visit` for each entry of a folder whose name starts with `prefix`. */
void list_folder(const char *folder, const char *prefix, void (*visit)(const char *name, void *),
                 void *user);

/* A number per thread: the runtime's last error if the runtime is absent. */
int thread_error();
void set_thread_error(int error);

/* The number of forks between the first process and this one, counted from the first call. */
unsigned int fork_generation();

/* The latest result of fork_generation() in this process. */
extern unsigned int known_generation;

void yield();

/* Registers a function for process exit; true on success. */
bool at_exit(void (*function)());

/* Whether the process is ending such that other modules may be unloaded already, and threads may
 * have ended while they held locks. Always false if at_exit() functions run before that. */
#if defined(_WIN32)
bool is_ending();
#else
constexpr bool is_ending() {
    return false;
}
#endif

/* Prevents the module that contains this code or constant from being unloaded. */
void pin_module_of(const void *address);
void pin_own_module();

/* The path of the program, on the heap; nullptr if unknown, and on POSIX systems in a process with
 * more rights than the user who started it: another name of the program may be in any folder. */
char *path_of_program();

/* File names of the driver and the runtime, and folders; terminated by nullptr. */
extern const char *const driver_names[];         // "libcuda.so.1"
extern const char *const runtime_names[];        // "libcudart.so.13"
extern const char *const known_driver_folders[]; // empty on Windows

/* Folders below the root of a toolkit or environment that may contain libraries; terminated by
 * nullptr. */
extern const char *const toolkit_folders[];     // "lib64", ...
extern const char *const environment_folders[]; // "lib", ...
extern const char *const python_folder;         // where "python3*" folders are: "lib"
extern const char *const toolkit_parent;        // "/usr/local"; nullptr: none
extern const char *const runtime_packages[];    // "nvidia/cu13/lib", ... in site-packages

bool is_separator(char c);

} // namespace cushim::platform
