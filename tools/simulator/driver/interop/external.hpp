// Memory and semaphores of other APIs, which arrive as file descriptors (Windows: as handles).
#pragma once

#include "base/platform.hpp"
#include "base/shared_state.hpp"
#include "engine/object.hpp"
#include "engine/work.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

struct CUextMemory_st final : sim::Object {
    CUextMemory_st(CUctx_st &owner, sim::platform::File memory, std::size_t bytes);
    ~CUextMemory_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::external_memory;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    sim::platform::File file;
    std::size_t size; // bytes that the import named, or those that are there
    std::shared_ptr<bool>
        living; // false once this is destroyed; what is mapped from it has it, too
};

namespace sim {

// The types of handle that the simulator imports, and those of another system: the driver refuses
// these as wrong values. What remains is not supported.
#ifdef _WIN32
constexpr bool is_foreign_memory(int type) {
    return type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
}
constexpr bool is_foreign_semaphore(int type) {
    return type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
           type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
}
constexpr int importable_memory = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
constexpr int importable_semaphore = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32;
constexpr int importable_timeline = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32;
#else
constexpr bool is_foreign_memory(int type) {
    return type >= CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32 &&
           type <= CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT;
}
constexpr bool is_foreign_semaphore(int type) {
    return type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD &&
           type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC &&
           type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
}
constexpr int importable_memory = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
constexpr int importable_semaphore = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
constexpr int importable_timeline = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
#endif

// What a client hands in for an import, under a number of the simulator's own. Names of Windows are
// not supported.
template <class Handle>
platform::File duplicate_of(const Handle &handle) {
#ifdef _WIN32
    require((handle.win32.handle != nullptr) != (handle.win32.name != nullptr));
    require(handle.win32.name == nullptr, CUDA_ERROR_NOT_SUPPORTED);
    platform::File given =
        platform::File::adopt(reinterpret_cast<std::intptr_t>(handle.win32.handle));
    platform::File own = given.duplicate();
    given.release();
    return own;
#else
    platform::File given = platform::File::adopt(handle.fd);
    platform::File own = given.duplicate();
    given.release();
    return own;
#endif
}

// The import owns a descriptor from now on; what the simulator needs of it it has duplicated. A
// handle of Windows stays the client's.
template <class Handle>
void take_over([[maybe_unused]] const Handle &handle) {
#ifndef _WIN32
    platform::File::adopt(handle.fd);
#endif
}

// What is behind a handle of this kind. The driver refuses null as a wrong value.
template <class T>
T &checked_external(T *handle) {
    require(handle != nullptr);
    return checked(handle);
}

// Of reserved words that must be zero.
template <class T, std::size_t count>
bool all_zero(const T (&words)[count]) {
    for (const T word : words) {
        if (word != 0) {
            return false;
        }
    }
    return true;
}

// What a semaphore's memory file holds: see cushim_sim_semaphore in cushim_sim.h.
struct SemaphoreState {
    static constexpr std::uint64_t own_magic = 0x65726f68706d6573;
    std::uint64_t magic;
    std::atomic<std::uint64_t> value; // timeline: the counter; binary: 1 signalled, 0 not
    std::uint64_t reserved[6];
};

} // namespace sim

struct CUextSemaphore_st final : sim::Object {
    CUextSemaphore_st(CUctx_st &owner, CUexternalSemaphoreHandleType type,
                      sim::Shared<sim::SemaphoreState> state);
    static constexpr sim::Kind own_kind = sim::Kind::external_semaphore;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUexternalSemaphoreHandleType type;
    bool timeline; // else binary
    sim::Shared<sim::SemaphoreState> state;
};

namespace sim {

using ExternalMemory = CUextMemory_st;
using ExternalSemaphore = CUextSemaphore_st;

// What is signalled and waited for, as Work::parameters has it.
struct SemaphoreSignals {
    std::vector<CUexternalSemaphore> semaphores;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> parameters;
};
struct SemaphoreWaits {
    std::vector<CUexternalSemaphore> semaphores;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> parameters;
};
Work signal_work(SemaphoreSignals signals, const char *what);
Work wait_work(SemaphoreWaits waits, const char *what);

// What another API exports: a new descriptor (a handle on Windows), which the caller owns; -1 where
// the system refuses. Memory is of zeros; a semaphore serves as timeline and as binary one.
int make_memory_fd(std::size_t size);
int make_semaphore_fd(std::uint64_t initial);

} // namespace sim
