// Copies: one general form for all of them, checked when it is given, resolved when it runs.
#pragma once

#include "engine/work.hpp"
#include "memory/array.hpp"

#include <cstddef>
#include <vector>

namespace sim {

// One side of a copy, checked.
struct CopySide {
    CUarray array = nullptr;  // null: memory
    CUdeviceptr address = 0;  // of the first byte that is copied
    bool may_be_host = false; // an unknown address is pageable host memory
    std::size_t first = 0;    // of an array: offset of the first byte that is copied
    std::size_t pitch = 0;    // from row to row, bytes
    std::size_t slice = 0;    // from layer to layer, bytes
    std::size_t span = 0;     // from the first byte to behind the last

    bool is_pageable() const noexcept;
    // Host memory, pinned or not: what a synchronous call waits for.
    bool is_host() const noexcept;
    // False of arrays to which nothing has been mapped: a copy of one fails when it runs.
    bool has_memory() const;
    // Refuses what is not there now.
    std::byte *view(bool write) const;
};

struct Copy {
    CopySide source, destination;
    std::size_t width = 0, height = 0, depth = 0; // bytes, rows, layers

    // Refuses with INVALID_VALUE what the memory that it names does not allow. Null where nothing
    // is copied.
    explicit Copy(const CUDA_MEMCPY3D_PEER &parameters);
    bool empty() const noexcept { return width == 0 || height == 0 || depth == 0; }
    // Refuses what mappings and pools do not let the device access that is to copy.
    void check_access_by(int device) const;
    void run() const;
    std::vector<Use> uses() const;
    // The source as it is now, row after row.
    std::vector<std::byte> snapshot() const;
};

// Checks the copy against the memory that it names. Work::parameters: CUDA_MEMCPY3D_PEER.
Work copy_work(const CUDA_MEMCPY3D_PEER &copy, const char *what);
// Work of a checked copy. `staged`: what snapshot() gave, to be copied in place of the source.
Work work_of(const Copy &copy, const CUDA_MEMCPY3D_PEER &parameters, const char *what);
Work staged_work(const Copy &copy, const CUDA_MEMCPY3D_PEER &parameters, const char *what);

// A copy of one row between addresses.
CUDA_MEMCPY3D_PEER linear_copy(CUmemorytype to, CUdeviceptr destination, CUmemorytype from,
                               CUdeviceptr source, std::size_t bytes);
inline CUdeviceptr address_of(const void *host) noexcept {
    return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(host));
}
// The forms without contexts.
CUDA_MEMCPY3D_PEER widened(const CUDA_MEMCPY2D &copy);
CUDA_MEMCPY3D_PEER widened(const CUDA_MEMCPY3D &copy);

// The copy itself; notes a misuse where a context that it names is of another device than its
// memory.
CUDA_MEMCPY3D_PEER with_checked_contexts(const CUDA_MEMCPY3D_PEER &copy, const char *what);

// What entry points do: in the null stream, and as soon as a client may know that it is done; in a
// stream.
CUresult copy_now(const CUDA_MEMCPY3D_PEER &parameters, const char *what);
// The same between two contexts that the parameters name: after all work that is queued in either
// and in the current one, and before all that will be.
CUresult copy_now_between_contexts(const CUDA_MEMCPY3D_PEER &parameters, const char *what);
CUresult copy_later(CUstream stream, const CUDA_MEMCPY3D_PEER &parameters, const char *what);

} // namespace sim
