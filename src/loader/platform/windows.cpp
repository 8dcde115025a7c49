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
#include "platform.hpp"

#include "atomics.hpp"

#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace cushim::platform {

namespace {

constexpr int longest_path = 4096;

void say(Text &text, const char *words) {
    snprintf(text.chars, sizeof text.chars, "%s", words);
}

/* Paths are UTF-8 in this library. */
bool widen(const char *path, wchar_t *wide) {
    return MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, longest_path) > 0;
}

/* On the heap; nullptr if out of memory. */
char *narrow(const wchar_t *wide) {
    const int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
    char *text = size > 0 ? static_cast<char *>(malloc(static_cast<size_t>(size))) : nullptr;
    if (text != nullptr) {
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, nullptr, nullptr);
    }
    return text;
}

void say_error(Text &text, DWORD error) {
    wchar_t wide[400] = L"";
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                       FORMAT_MESSAGE_MAX_WIDTH_MASK,
                   nullptr, error, 0, wide, 400, nullptr);
    char *words = narrow(wide);
    size_t length = words != nullptr ? strlen(words) : 0;
    while (length > 0 && (words[length - 1] == ' ' || words[length - 1] == '.')) {
        words[--length] = '\0';
    }
    snprintf(text.chars, sizeof text.chars, "%.400s (error %lu)",
             length > 0 ? words : "the system gave no message", static_cast<unsigned long>(error));
    free(words);
}

bool has_folder(const char *path) {
    for (; *path != '\0'; ++path) {
        if (is_separator(*path)) {
            return true;
        }
    }
    return false;
}

FileKind inspect_image(HANDLE file, Text &detail) {
    unsigned char head[4096];
    DWORD got = 0;
    if (!ReadFile(file, head, sizeof head, &got, nullptr)) {
        got = 0;
    }
    LARGE_INTEGER size = {};
    GetFileSizeEx(file, &size);
    if (got < 2 || head[0] != 'M' || head[1] != 'Z') {
        say(detail, got == 0 ? "the file is empty" : "not a library (no MZ header)");
        return FileKind::not_a_library;
    }
    DWORD offset = 0;
    if (got >= 64) {
        memcpy(&offset, head + 60, sizeof offset);
    }
    if (got < 64 || offset + sizeof(IMAGE_NT_HEADERS) > got) {
        say(detail, "the file ends inside its header");
        return FileKind::truncated;
    }
    IMAGE_NT_HEADERS headers;
    memcpy(&headers, head + offset, sizeof headers);
#if defined(_M_ARM64) || defined(__aarch64__)
    const WORD own_machine = IMAGE_FILE_MACHINE_ARM64;
#else
    const WORD own_machine = IMAGE_FILE_MACHINE_AMD64;
#endif
    if (headers.FileHeader.Machine != own_machine) {
        snprintf(detail.chars, sizeof detail.chars,
                 "built for another architecture (PE machine 0x%04x)",
                 static_cast<unsigned int>(headers.FileHeader.Machine));
        return FileKind::wrong_architecture;
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
        if (static_cast<LONGLONG>(section.PointerToRawData) + section.SizeOfRawData >
            size.QuadPart) {
            snprintf(detail.chars, sizeof detail.chars,
                     "the file is truncated: its %lld bytes are fewer than its header describes",
                     static_cast<long long>(size.QuadPart));
            return FileKind::truncated;
        }
    }
    return FileKind::library;
}

} // namespace

Module open_library(const char *path, OpenMode mode, OpenError &error) {
    wchar_t wide[longest_path];
    if (!widen(path, wide)) {
        say(error.message, "the path is too long or not UTF-8");
        return nullptr;
    }
    HMODULE module = nullptr;
    if (mode == OpenMode::already_loaded) {
        if (!GetModuleHandleExW(0, wide, &module)) {
            say(error.message, "not loaded in this process");
            return nullptr;
        }
        return module;
    }
    // Never the current folder or PATH, where a planted DLL could take the place of a missing
    // driver.
    const DWORD flags = has_folder(path)
                            ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32
                        : mode == OpenMode::system
                            ? LOAD_LIBRARY_SEARCH_SYSTEM32
                            : LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32;
    wchar_t absolute[longest_path];
    const wchar_t *name = wide;
    if (has_folder(path)) { // LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR requires absolute paths
        const DWORD length = GetFullPathNameW(wide, longest_path, absolute, nullptr);
        if (length > 0 && length < longest_path) {
            name = absolute;
        }
    }
    DWORD mode_before = 0; // no dialogue box for a broken file
    SetThreadErrorMode(SEM_FAILCRITICALERRORS, &mode_before);
    module = LoadLibraryExW(name, nullptr, flags);
    const DWORD code = GetLastError();
    SetThreadErrorMode(mode_before, nullptr);
    if (module == nullptr) {
        say_error(error.message, code);
        // The system reports the same error if a library that this one needs is missing.
        Text ignored;
        error.missing = code == ERROR_MOD_NOT_FOUND &&
                        (!has_folder(path) || inspect_file(path, ignored) == FileKind::missing);
    }
    return module;
}

void close_library(Module module) {
    FreeLibrary(static_cast<HMODULE>(module));
}

void *find_symbol(Module module, const char *name) {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(module), name));
}

char *path_of_module(Module module) {
    wchar_t wide[longest_path];
    const DWORD length = GetModuleFileNameW(static_cast<HMODULE>(module), wide, longest_path);
    return length > 0 && length < longest_path ? narrow(wide) : nullptr;
}

bool contains_own_code(Module module) {
    HMODULE own = nullptr;
    return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                              reinterpret_cast<const char *>(&contains_own_code), &own) &&
           own == static_cast<HMODULE>(module);
}

FileKind inspect_file(const char *path, Text &detail) {
    wchar_t wide[longest_path];
    if (!widen(path, wide)) {
        say(detail, "the path is too long or not UTF-8");
        return FileKind::not_a_library;
    }
    const DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        const DWORD error = GetLastError();
        say_error(detail, error);
        return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND
                   ? FileKind::missing
                   : FileKind::not_a_library;
    }
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
        say(detail, "a folder, not a library");
        return FileKind::folder;
    }
    HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                              OPEN_EXISTING, 0, nullptr);
    if (file == INVALID_HANDLE_VALUE) {
        say_error(detail, GetLastError());
        return FileKind::not_a_library;
    }
    const FileKind kind = inspect_image(file, detail);
    CloseHandle(file);
    return kind;
}

bool visit_search_path(bool (*)(const char *folder, void *user), void *) {
    return false; // no folders: PATH is never searched
}

const char *environment(const char *name) {
    wchar_t wide_name[64], wide[longest_path];
    if (MultiByteToWideChar(CP_UTF8, 0, name, -1, wide_name, 64) == 0) {
        return nullptr;
    }
    const DWORD length = GetEnvironmentVariableW(wide_name, wide, longest_path);
    // Never freed: searches are few, and reports refer to these texts.
    return length > 0 && length < longest_path ? narrow(wide) : nullptr;
}

void list_folder(const char *folder, const char *prefix, void (*visit)(const char *name, void *),
                 void *user) {
    char pattern[longest_path];
    wchar_t wide[longest_path];
    if (snprintf(pattern, sizeof pattern, "%s\\%s*", folder, prefix) >= longest_path ||
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
        if (WideCharToMultiByte(CP_UTF8, 0, entry.cFileName, -1, name, sizeof name, nullptr,
                                nullptr) > 0) {
            visit(name, user);
        }
    } while (FindNextFileW(search, &entry));
    FindClose(search);
}

namespace {

// A TLS slot of the system, since the compiler's thread-local variables need a C++ runtime with
// mingw. Stores the slot plus one; 0: not allocated.
size_t error_slot = 0;

size_t own_error_slot() {
    size_t slot = atomics::load(&error_slot);
    if (slot != 0) {
        return slot;
    }
    const DWORD fresh = TlsAlloc();
    if (fresh == TLS_OUT_OF_INDEXES) {
        return 0;
    }
    if (atomics::replace(&error_slot, slot, static_cast<size_t>(fresh) + 1)) {
        return static_cast<size_t>(fresh) + 1;
    }
    TlsFree(fresh);
    return slot;
}

DWORD index_of(size_t stored) {
    return static_cast<DWORD>(stored - 1);
}

} // namespace

int thread_error() {
    const size_t slot = atomics::load(&error_slot);
    if (slot == 0) {
        return 0;
    }
    const DWORD before = GetLastError(); // TlsGetValue clears it
    const int error = static_cast<int>(reinterpret_cast<size_t>(TlsGetValue(index_of(slot))));
    SetLastError(before);
    return error;
}

void set_thread_error(int error) {
    const size_t slot = own_error_slot();
    if (slot != 0) {
        TlsSetValue(index_of(slot), reinterpret_cast<void *>(static_cast<size_t>(error)));
    }
}

unsigned int known_generation = 0;

unsigned int fork_generation() {
    return known_generation;
}

void yield() {
    SwitchToThread();
}

bool at_exit(void (*function)()) {
    pin_own_module();
    return atexit(function) == 0;
}

/* Exit handlers of a DLL run when the DLL is unloaded: after DLLs that were loaded later, and after
 * all other threads have ended. No header declares this system function, but C runtimes use it too.
 */
bool is_ending() {
    using Answer = BOOLEAN(NTAPI *)();
    static Answer found = nullptr;
    Answer answer = atomics::load(&found);
    if (answer == nullptr) {
        answer = reinterpret_cast<Answer>(reinterpret_cast<void *>(
            GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlDllShutdownInProgress")));
        atomics::store(&found, answer); // racing threads store the same
    }
    return answer != nullptr && answer();
}

void pin_module_of(const void *address) {
    HMODULE module = nullptr;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       static_cast<const char *>(address), &module);
}

void pin_own_module() {
    pin_module_of(reinterpret_cast<const void *>(&pin_own_module));
}

char *path_of_program() {
    return path_of_module(nullptr);
}

const char *const driver_names[] = {"nvcuda.dll", nullptr};
#if CUSHIM_CUDA_MAJOR == 11
const char *const runtime_names[] = {"cudart64_110.dll", nullptr};
#else
const char *const runtime_names[] = {"cudart64_" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) ".dll", nullptr};
#endif

const char *const known_driver_folders[] = {nullptr};
const char *const toolkit_folders[] = {"bin\\x64", "bin", nullptr};
const char *const environment_folders[] = {"Library\\bin\\x64", "Library\\bin", "bin", nullptr};
const char *const python_folder = "Lib";
const char *const toolkit_parent = nullptr;
const char *const runtime_packages[] = {"nvidia\\cu" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) "\\bin\\x86_64",
                                        "nvidia\\cu" CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) "\\bin",
                                        "nvidia\\cuda_runtime\\bin", nullptr};

bool is_separator(char c) {
    return c == '/' || c == '\\';
}

} // namespace cushim::platform
#endif
