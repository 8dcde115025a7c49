// Short forms for tests of memory and copies. Each fails the test case if the driver fails.
#pragma once

#include "handles.hpp"

#ifndef _WIN32
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace sim_test {

constexpr std::size_t KiB = std::size_t(1) << 10, MiB = std::size_t(1) << 20,
                      GiB = std::size_t(1) << 30;

using Bytes = std::vector<unsigned char>;

inline CUdeviceptr as_device(const void *host) {
    return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(host));
}
inline void *as_host(CUdeviceptr address) {
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
}

inline unsigned char *view(CUdeviceptr address, std::size_t size) {
    auto *bytes = static_cast<unsigned char *>(sim_control().view(address, size));
    REQUIRE(bytes != nullptr);
    return bytes;
}

inline Bytes contents(CUdeviceptr address, std::size_t size) {
    const unsigned char *bytes = view(address, size);
    return Bytes(bytes, bytes + size);
}

// Bytes that differ from their neighbours, and between seeds.
inline Bytes pattern(std::size_t size, unsigned int seed = 1) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<unsigned char>((i * 31 + i / 251 + seed * 77) & 0xff);
    }
    return bytes;
}

inline void fill(CUdeviceptr address, const Bytes &bytes) {
    std::memcpy(view(address, bytes.size()), bytes.data(), bytes.size());
}

inline void synchronize() {
    require_ok(driver().cuCtxSynchronize());
}

inline std::size_t free_memory() {
    std::size_t available = 0, total = 0;
    require_ok(driver().cuMemGetInfo(&available, &total));
    return available;
}

// Removes the current context for a scope.
class WithoutContext : Unique {
  public:
    WithoutContext() { require_ok(driver().cuCtxPopCurrent(&context_)); }
    ~WithoutContext() { driver().cuCtxSetCurrent(context_); }

  private:
    CUcontext context_ = nullptr;
};

// Makes the primary context of a device current for a scope.
class OnDevice : Unique {
  public:
    explicit OnDevice(int ordinal) : ordinal_(ordinal) {
        require_ok(driver().cuDevicePrimaryCtxRetain(&context, ordinal));
        require_ok(driver().cuCtxPushCurrent(context));
    }
    ~OnDevice() {
        CUcontext popped = nullptr;
        driver().cuCtxPopCurrent(&popped);
        driver().cuDevicePrimaryCtxRelease(ordinal_);
    }

    CUcontext context = nullptr;

  private:
    int ordinal_;
};

#ifndef _WIN32
// Whether a process that accesses the address is killed.
inline bool is_deadly(const void *address, bool write = false) {
    const int child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGSEGV, SIG_DFL); // without reports of Catch2 or a sanitizer
        std::signal(SIGBUS, SIG_DFL);
        auto *byte = static_cast<volatile unsigned char *>(const_cast<void *>(address));
        if (write) {
            *byte = 1;
        } else {
            static_cast<void>(*byte);
        }
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
#endif

} // namespace sim_test
