// An nvJitLink. Data that contains "bad" is rejected. FAKE_OLD: of an older version than the
// header, whose names contain its version.
#include "fake_calls.hpp"

#include <cstddef>
#include <cstring>

#define JOIN_NOW(name, version) __##name##version
#define JOIN(name, version) JOIN_NOW(name, version)
#define VERSIONED(name) JOIN(name, FAKE_VERSION)

FAKE int nvJitLinkVersion(unsigned int *major, unsigned int *minor) {
    *major = FAKE_MAJOR;
    *minor = 0;
    return 0;
}
#ifndef FAKE_OLD
namespace {

struct Linker {
    std::string flags, errors;
};

Linker &linker(void *handle) {
    return *static_cast<Linker *>(handle);
}

// Texts that exist get a NUL; those that do not have size 0.
std::string with_nul(const std::string &text) {
    return text.empty() ? text : text + '\0';
}

int get_size(const char *function, const std::string &text, std::size_t *size) {
    const int status = enter(function);
    *size = text.size();
    return status;
}

int get(const char *function, const std::string &text, char *to) {
    const int status = enter(function);
    std::memcpy(to, text.data(), text.size());
    return status;
}

int failed(void *handle, int status, const std::string &what) {
    if (status != 0) {
        linker(handle).errors += "ERROR: " + what + "\n";
    }
    return status;
}

} // namespace

FAKE int VERSIONED(nvJitLinkCreate)(void **created, unsigned int count, const char *const *flags) {
    *created = new Linker{list(static_cast<int>(count), flags), ""};
    ++live_objects;
    return failed(*created, enter("nvJitLinkCreate " + linker(*created).flags), "options");
}
FAKE int VERSIONED(nvJitLinkDestroy)(void **handle) {
    const int status = enter("nvJitLinkDestroy");
    delete &linker(*handle);
    *handle = nullptr;
    --live_objects;
    return status;
}
FAKE int VERSIONED(nvJitLinkAddData)(void *handle, int type, const void *data, std::size_t size,
                                     const char *name) {
    int status =
        enter("nvJitLinkAddData " + std::to_string(type) + " " + std::to_string(size) + " " + name);
    if (status == 0 &&
        std::string(static_cast<const char *>(data), size).find("bad") != std::string::npos) {
        status = 8;
    }
    return failed(handle, status, name);
}
FAKE int VERSIONED(nvJitLinkAddFile)(void *handle, int type, const char *path) {
    return failed(
        handle, enter("nvJitLinkAddFile " + std::to_string(type) + " " + std::string(path)), path);
}
FAKE int VERSIONED(nvJitLinkComplete)(void *handle) {
    return failed(handle, enter("nvJitLinkComplete"), "undefined reference");
}
FAKE int VERSIONED(nvJitLinkGetLinkedCubinSize)(void *handle, std::size_t *size) {
    return get_size("nvJitLinkGetLinkedCubinSize", "cubin " + linker(handle).flags, size);
}
FAKE int VERSIONED(nvJitLinkGetLinkedCubin)(void *handle, void *to) {
    return get("nvJitLinkGetLinkedCubin", "cubin " + linker(handle).flags, static_cast<char *>(to));
}
FAKE int VERSIONED(nvJitLinkGetLinkedPtxSize)(void *handle, std::size_t *size) {
    return get_size("nvJitLinkGetLinkedPtxSize", with_nul("PTX " + linker(handle).flags), size);
}
FAKE int VERSIONED(nvJitLinkGetLinkedPtx)(void *handle, char *to) {
    return get("nvJitLinkGetLinkedPtx", with_nul("PTX " + linker(handle).flags), to);
}
FAKE int VERSIONED(nvJitLinkGetErrorLogSize)(void *handle, std::size_t *size) {
    return get_size("nvJitLinkGetErrorLogSize", with_nul(linker(handle).errors), size);
}
FAKE int VERSIONED(nvJitLinkGetErrorLog)(void *handle, char *to) {
    return get("nvJitLinkGetErrorLog", with_nul(linker(handle).errors), to);
}
FAKE int VERSIONED(nvJitLinkGetInfoLogSize)(void *, std::size_t *size) {
    return get_size("nvJitLinkGetInfoLogSize", with_nul("24 registers\n"), size);
}
FAKE int VERSIONED(nvJitLinkGetInfoLog)(void *, char *to) {
    return get("nvJitLinkGetInfoLog", with_nul("24 registers\n"), to);
}
#endif
