// Libraries that a program loads itself, and a look at those that are loaded.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <string>

#if defined(_WIN32)
#include <windows.h>

inline void *load(const char *path) {
    return reinterpret_cast<void *>(LoadLibraryA(path));
}

inline bool unload(void *library) {
    return FreeLibrary(static_cast<HMODULE>(library)) != 0;
}

inline bool is_loaded(const char *path) {
    return GetModuleHandleA(path) != nullptr;
}

template <class Function>
Function *function_in(void *library, const char *name) {
    return reinterpret_cast<Function *>(
        reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name)));
}

inline bool runtime_is_mapped() {
    constexpr int major = CUDART_VERSION / 1000;
    return is_loaded(
        ("cudart64_" + (major == 11 ? "110" : std::to_string(major)) + ".dll").c_str());
}
#else
#include <dlfcn.h>

inline void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::puts(dlerror());
    }
    return library;
}

inline bool unload(void *library) {
    return dlclose(library) == 0;
}

inline bool is_loaded(const char *path) {
    return dlopen(path, RTLD_NOW | RTLD_NOLOAD) != nullptr;
}

template <class Function>
Function *function_in(void *library, const char *name) {
    return reinterpret_cast<Function *>(dlsym(library, name));
}

inline bool runtime_is_mapped() {
    std::FILE *maps = std::fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
        found = found || std::strstr(line, "libcudart") != nullptr;
    }
    if (maps != nullptr) {
        std::fclose(maps);
    }
    return found;
}
#endif
