// Memory and semaphores of other APIs, imported as file descriptors (Windows: as handles).
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
    std::size_t size;             // imported bytes, limited by the size of the file
    std::shared_ptr<bool> living; // false once this is destroyed; shared with its mappings
};

namespace sim {

// Handle types that the simulator imports, and those of the other system, which the driver rejects
// as invalid values. All others are not supported.
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

// A client's handle description with the simulator's own type numbers. Windows names are not
// supported.
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

// A successful import owns the descriptor; the simulator has duplicated what it needs. On Windows,
// the client keeps the handle.
template <class Handle>
void take_over([[maybe_unused]] const Handle &handle) {
#ifndef _WIN32
    platform::File::adopt(handle.fd);
#endif
}

// The object behind a handle of this kind. Recorded: null is rejected as an invalid value.
template <class T>
T &checked_external(T *handle) {
    require(handle != nullptr);
    return checked(handle);
}

// Whether reserved words are zero, as required.
template <class T, std::size_t count>
bool all_zero(const T (&words)[count]) {
    for (const T word : words) {
        if (word != 0) {
            return false;
        }
    }
    return true;
}

// Contents of a semaphore file: see cushim_sim_semaphore in cushim_sim.h.
struct SemaphoreState {
    static constexpr std::uint64_t own_magic = 0x65726f68706d6573;
    std::uint64_t magic;
    std::atomic<std::uint64_t> value; // timeline: counter; binary: 1 if signaled, else 0
    std::uint64_t reserved[6];
};

} // namespace sim

struct CUextSemaphore_st final : sim::Object {
    CUextSemaphore_st(CUctx_st &owner, CUexternalSemaphoreHandleType type,
                      sim::Shared<sim::SemaphoreState> state);
    static constexpr sim::Kind own_kind = sim::Kind::external_semaphore;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUexternalSemaphoreHandleType type;
    bool timeline; // false: binary
    sim::Shared<sim::SemaphoreState> state;
};

namespace sim {

using ExternalMemory = CUextMemory_st;
using ExternalSemaphore = CUextSemaphore_st;

// A batch of signals or waits, for Work::parameters.
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

// A new descriptor as another API exports it (a handle on Windows), owned by the caller; -1 if the
// system call fails. Memory is zero-filled; a semaphore can be a timeline or a binary one.
int make_memory_fd(std::size_t size);
int make_semaphore_fd(std::uint64_t initial);

} // namespace sim
