// Memory and events that other processes open through a handle of 64 bytes.
#pragma once

#include "base/refusal.hpp"
#include "engine/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sim {

// A checksum over all bytes.
inline std::uint64_t seal_of(const void *bytes, std::size_t size) noexcept {
    std::uint64_t seal = 0xcbf29ce484222325; // FNV-1a
    for (std::size_t i = 0; i < size; ++i) {
        seal = (seal ^ static_cast<const unsigned char *>(bytes)[i]) * 0x100000001b3;
    }
    return seal;
}

// Contents of CUipcMemHandle. Fields from other processes are never trusted.
struct IpcMemoryHandle {
    static constexpr std::uint32_t own_magic = 0x6d637069;
    std::uint32_t magic;
    std::int32_t device;   // device ordinal
    std::uint32_t process; // process id of the exporter
    std::int32_t table;    // the exporter's descriptor of its export table
    std::uint64_t table_identity;
    std::uint64_t identity; // of this memory; never reused
    std::uint32_t slot;     // slot in the table
    std::int32_t file;      // the exporter's descriptor of the file that holds the memory
    std::uint64_t offset;   // offset of the memory in that file
    std::uint64_t size;     // bytes
    std::uint64_t seal;     // checksum of all previous members
};
static_assert(sizeof(IpcMemoryHandle) == CU_IPC_HANDLE_SIZE);

// Contents of CUipcEventHandle.
struct IpcEventHandle {
    static constexpr std::uint32_t own_magic = 0x65637069;
    std::uint32_t magic;
    std::uint32_t process;
    std::uint64_t identity; // identity of the shared state
    std::int32_t file;      // the exporter's descriptor of the shared state
    std::uint32_t reserved[9];
    std::uint64_t seal; // checksum of all previous members
};
static_assert(sizeof(IpcEventHandle) == CU_IPC_HANDLE_SIZE);

// Seal a handle and convert it to the client's type, and back. A modified handle is rejected.
template <class Outside, class Inside>
Outside sealed(Inside inside) {
    inside.magic = Inside::own_magic;
    inside.seal = seal_of(&inside, offsetof(Inside, seal));
    Outside outside;
    static_assert(sizeof outside == sizeof inside);
    std::memcpy(&outside, &inside, sizeof inside);
    return outside;
}
template <class Inside, class Outside>
Inside unsealed(const Outside &outside, CUresult refusal) {
    Inside inside;
    static_assert(sizeof outside == sizeof inside);
    std::memcpy(&inside, &outside, sizeof inside);
    require(inside.magic == Inside::own_magic &&
                inside.seal == seal_of(&inside, offsetof(Inside, seal)),
            refusal);
    return inside;
}

// Whether cuIpcGetMemHandle supports the memory: the value of
// CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE.
bool can_export_ipc(const Range &range) noexcept;

} // namespace sim
