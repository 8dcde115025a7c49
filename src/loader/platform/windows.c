/* Operating system services: Windows. */
#if defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#endif
#include "platform.h"

#include "atomics.h"

#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { path_capacity = 4096 };

static void say(Text *text, const char *words) {
    snprintf(text->chars, sizeof text->chars, "%s", words);
}

/* Paths are UTF-8 in this library. */
static bool widen(const char *path, wchar_t *wide) {
    return MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, path_capacity) > 0;
}

/* On the heap; NULL if out of memory. */
static char *narrow(const wchar_t *wide) {
    const int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = size > 0 ? malloc((size_t)size) : NULL;
    if (text != NULL) {
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL);
    }
    return text;
}

static void say_error(Text *text, DWORD error) {
    wchar_t wide[400] = L"";
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                       FORMAT_MESSAGE_MAX_WIDTH_MASK,
                   NULL, error, 0, wide, 400, NULL);
    char *words = narrow(wide);
    size_t length = words != NULL ? strlen(words) : 0;
    while (length > 0 && (words[length - 1] == ' ' || words[length - 1] == '.')) {
        words[--length] = '\0';
    }
    snprintf(text->chars, sizeof text->chars, "%.400s (error %lu)",
             length > 0 ? words : "the system gave no message", (unsigned long)error);
    free(words);
}

static bool has_folder(const char *path) {
    for (; *path != '\0'; ++path) {
        if (cushim_platform_is_separator(*path)) {
            return true;
        }
    }
    return false;
}

static FileKind inspect_image(HANDLE file, Text *detail) {
    unsigned char head[4096];
    DWORD got = 0;
    if (!ReadFile(file, head, sizeof head, &got, NULL)) {
        got = 0;
    }
    LARGE_INTEGER size;
    size.QuadPart = 0;
    GetFileSizeEx(file, &size);
    if (got < 2 || head[0] != 'M' || head[1] != 'Z') {
        say(detail, got == 0 ? "the file is empty" : "not a library (no MZ header)");
        return CUSHIM_FILE_NOT_A_LIBRARY;
    }
    DWORD offset = 0;
    if (got >= 64) {
        memcpy(&offset, head + 60, sizeof offset);
    }
    if (got < 64 || offset + sizeof(IMAGE_NT_HEADERS) > got) {
        say(detail, "the file ends inside its header");
        return CUSHIM_FILE_TRUNCATED;
    }
    IMAGE_NT_HEADERS headers;
    memcpy(&headers, head + offset, sizeof headers);
#if defined(_M_ARM64) || defined(__aarch64__)
    const WORD own_machine = IMAGE_FILE_MACHINE_ARM64;
#else
    const WORD own_machine = IMAGE_FILE_MACHINE_AMD64;
#endif
    if (headers.FileHeader.Machine != own_machine) {
        snprintf(detail->chars, sizeof detail->chars,
                 "built for another architecture (PE machine 0x%04x)",
                 (unsigned int)headers.FileHeader.Machine);
        return CUSHIM_FILE_WRONG_ARCHITECTURE;
    }
    size_t at = offset + offsetof(IMAGE_NT_HEADERS, OptionalHeader) +
                headers.FileHeader.SizeOfOptionalHeader;
    for (WORD i = 0; i < headers.FileHeader.NumberOfSections;
         ++i, at += sizeof(IMAGE_SECTION_HEADER)) {
        IMAGE_SECTION_HEADER section;
        if (at + sizeof section > got) {
            break;
        }
        memcpy(&section, head + at, sizeof section);
        if ((LONGLONG)section.PointerToRawData + section.SizeOfRawData > size.QuadPart) {
            snprintf(detail->chars, sizeof detail->chars,
                     "the file is truncated: its %lld bytes are fewer than its header describes",
                     (long long)size.QuadPart);
            return CUSHIM_FILE_TRUNCATED;
        }
    }
    return CUSHIM_FILE_LIBRARY;
}

Module cushim_platform_open(const char *path, OpenMode mode, OpenError *error) {
    error->message.chars[0] = '\0';
    error->missing = false;
    error->kind = CUSHIM_FILE_LIBRARY;
    wchar_t wide[path_capacity];
    if (!widen(path, wide)) {
        say(&error->message, "the path is too long or not UTF-8");
        return NULL;
    }
    HMODULE module = NULL;
    if (mode == CUSHIM_OPEN_ALREADY_LOADED) {
        if (!GetModuleHandleExW(0, wide, &module)) {
            say(&error->message, "not loaded in this process");
            return NULL;
        }
        return module;
    }
    // Never the current folder or PATH, where a planted DLL could take the place of a missing
    // driver.
    const DWORD flags = has_folder(path)
                            ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32
                        : mode == CUSHIM_OPEN_SYSTEM
                            ? LOAD_LIBRARY_SEARCH_SYSTEM32
                            : LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32;
    wchar_t absolute[path_capacity];
    const wchar_t *name = wide;
    if (has_folder(path)) { // LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR requires absolute paths
        const DWORD length = GetFullPathNameW(wide, path_capacity, absolute, NULL);
        if (length > 0 && length < path_capacity) {
            name = absolute;
        }
    }
    DWORD mode_before = 0; // no dialogue box for a broken file
    SetThreadErrorMode(SEM_FAILCRITICALERRORS, &mode_before);
    module = LoadLibraryExW(name, NULL, flags);
    const DWORD code = GetLastError();
    SetThreadErrorMode(mode_before, NULL);
    if (module == NULL) {
        say_error(&error->message, code);
        // The system reports the same error if a library that this one needs is missing.
        Text ignored;
        error->missing = code == ERROR_MOD_NOT_FOUND &&
                         (!has_folder(path) ||
                          cushim_platform_inspect_file(path, &ignored) == CUSHIM_FILE_MISSING);
    }
    return module;
}

const bool cushim_platform_opens_loaded_first = false;

void cushim_platform_close(Module module) {
    FreeLibrary((HMODULE)module);
}

cushim_function cushim_platform_find_function(Module module, const char *name) {
    return (cushim_function)GetProcAddress((HMODULE)module, name);
}

bool cushim_platform_may_have_version(Module module, const char *function, const char *version) {
    (void)module, (void)function, (void)version;
    return true;
}

char *cushim_platform_path_of_module(Module module) {
    wchar_t wide[path_capacity];
    const DWORD length = GetModuleFileNameW((HMODULE)module, wide, path_capacity);
    return length > 0 && length < path_capacity ? narrow(wide) : NULL;
}

/* An address in this module. */
static const char own_address = 0;

bool cushim_platform_contains_own_code(Module module) {
    HMODULE own = NULL;
    return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                              &own_address, &own) &&
           own == (HMODULE)module;
}

FileKind cushim_platform_inspect_file(const char *path, Text *detail) {
    detail->chars[0] = '\0';
    wchar_t wide[path_capacity];
    if (!widen(path, wide)) {
        say(detail, "the path is too long or not UTF-8");
        return CUSHIM_FILE_NOT_A_LIBRARY;
    }
    const DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        const DWORD error = GetLastError();
        say_error(detail, error);
        return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND
                   ? CUSHIM_FILE_MISSING
                   : CUSHIM_FILE_NOT_A_LIBRARY;
    }
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
        say(detail, "a folder, not a library");
        return CUSHIM_FILE_FOLDER;
    }
    HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        say_error(detail, GetLastError());
        return CUSHIM_FILE_NOT_A_LIBRARY;
    }
    const FileKind kind = inspect_image(file, detail);
    CloseHandle(file);
    return kind;
}

bool cushim_platform_visit_system_search(
    const char *name, bool (*visit)(const char *path, FoundPlace place, void *user), void *user) {
    (void)name, (void)visit, (void)user;
    return false; // no files: PATH is never searched
}

const char *cushim_platform_environment(const char *name) {
    wchar_t wide_name[64], wide[path_capacity];
    if (MultiByteToWideChar(CP_UTF8, 0, name, -1, wide_name, 64) == 0) {
        return NULL;
    }
    const DWORD length = GetEnvironmentVariableW(wide_name, wide, path_capacity);
    // Never freed: searches are few, and reports refer to these texts.
    return length > 0 && length < path_capacity ? narrow(wide) : NULL;
}

void cushim_platform_list_folder(const char *folder, const char *prefix,
                                 void (*visit)(const char *name, void *user), void *user) {
    char pattern[path_capacity];
    wchar_t wide[path_capacity];
    if (snprintf(pattern, sizeof pattern, "%s\\%s*", folder, prefix) >= path_capacity ||
        !widen(pattern, wide)) {
        return;
    }
    WIN32_FIND_DATAW entry;
    HANDLE search = FindFirstFileW(wide, &entry);
    if (search == INVALID_HANDLE_VALUE) {
        return;
    }
    do {
        char name[MAX_PATH * 3];
        if (WideCharToMultiByte(CP_UTF8, 0, entry.cFileName, -1, name, sizeof name, NULL, NULL) >
            0) {
            visit(name, user);
        }
    } while (FindNextFileW(search, &entry));
    FindClose(search);
}

// A TLS slot of the system, since the compiler's thread-local variables need a C++ runtime with
// mingw. Stores the slot plus one; 0: not allocated.
static size_t error_slot = 0;

static size_t own_error_slot(void) {
    size_t slot = CUSHIM_LOAD(&error_slot);
    if (slot != 0) {
        return slot;
    }
    const DWORD fresh = TlsAlloc();
    if (fresh == TLS_OUT_OF_INDEXES) {
        return 0;
    }
    if (CUSHIM_REPLACE(&error_slot, &slot, (size_t)fresh + 1)) {
        return (size_t)fresh + 1;
    }
    TlsFree(fresh);
    return slot;
}

static DWORD index_of(size_t stored) {
    return (DWORD)(stored - 1);
}

int cushim_platform_thread_error(void) {
    const size_t slot = CUSHIM_LOAD(&error_slot);
    if (slot == 0) {
        return 0;
    }
    const DWORD before = GetLastError(); // TlsGetValue clears it
    const int error = (int)(size_t)TlsGetValue(index_of(slot));
    SetLastError(before);
    return error;
}

void cushim_platform_set_thread_error(int error) {
    const size_t slot = own_error_slot();
    if (slot != 0) {
        TlsSetValue(index_of(slot), (void *)(size_t)error);
    }
}

unsigned int cushim_platform_known_generation = 0;

unsigned int cushim_platform_fork_generation(void) {
    return cushim_platform_known_generation;
}

void cushim_platform_yield(void) {
    SwitchToThread();
}

bool cushim_platform_at_exit(void (*function)(void)) {
    cushim_platform_pin_own_module();
    return atexit(function) == 0;
}

/* Exit handlers of a DLL run when the DLL is unloaded: after DLLs that were loaded later, and after
 * all other threads have ended. No header declares this system function, but C runtimes use it too.
 */
bool cushim_platform_is_ending(void) {
    typedef BOOLEAN(NTAPI * Query)(void);
    static cushim_function found = NULL;
    cushim_function function = CUSHIM_LOAD(&found);
    if (function == NULL) {
        function = cushim_platform_find_function(GetModuleHandleW(L"ntdll.dll"),
                                                 "RtlDllShutdownInProgress");
        CUSHIM_STORE(&found, function); // racing threads store the same
    }
    return function != NULL && ((Query)function)();
}

void cushim_platform_pin_module_of(const void *address) {
    HMODULE module = NULL;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       (const char *)address, &module);
}

void cushim_platform_pin_own_module(void) {
    cushim_platform_pin_module_of(&own_address);
}

char *cushim_platform_path_of_program(void) {
    return cushim_platform_path_of_module(NULL);
}

bool cushim_platform_visit_program_paths(bool (*visit)(const char *path, void *user), void *user) {
    char *path = cushim_platform_path_of_program();
    const bool done = path != NULL && visit(path, user);
    free(path);
    return done;
}

char *cushim_platform_path_of_module_with(const void *address) {
    HMODULE module = NULL;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                           GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                       (const char *)address, &module);
    return cushim_platform_path_of_module(module);
}

const char *const cushim_platform_driver_names[] = {"nvcuda.dll", NULL};
#if CUSHIM_CUDA_MAJOR == 11
const char *const cushim_platform_runtime_names[] = {"cudart64_110.dll", NULL};
#else
const char *const cushim_platform_runtime_names[] = {
    "cudart64_" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) ".dll", NULL};
#endif

const char *const cushim_platform_driver_folders[] = {NULL};
const char *const cushim_platform_toolkit_folders[] = {"bin\\x64", "bin", NULL};
const char *const cushim_platform_environment_folders[] = {"Library\\bin\\x64", "Library\\bin",
                                                           "bin", NULL};
const char *const cushim_platform_python_folder = "Lib";
const char *const cushim_platform_toolkit_parent = NULL;
const char *const cushim_platform_runtime_packages[] = {
    "nvidia\\cu" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) "\\bin\\x86_64",
    "nvidia\\cu" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) "\\bin", "nvidia\\cuda_runtime\\bin", NULL};

bool cushim_platform_is_separator(char c) {
    return c == '/' || c == '\\';
}

#else
#include "platform.h" // C requires a declaration
#endif
