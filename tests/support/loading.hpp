// Loads shared libraries explicitly.
#pragma once

#include <cstdio>

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
#endif
