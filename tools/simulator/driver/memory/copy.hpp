// Copies: one general form for all calls, checked at the call, resolved when it runs.
#pragma once

#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "engine/work.hpp"
#include "memory/array.hpp"

#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

namespace sim {

// The source or destination of a copy, checked.
struct CopySide {
    CUarray array = nullptr;  // null: memory
    CUdeviceptr address = 0;  // of the first copied byte
    bool may_be_host = false; // an unknown address is pageable host memory
    std::size_t first = 0;    // array: offset of the first copied byte
    std::size_t pitch = 0;    // bytes from row to row
    std::size_t slice = 0;    // bytes from layer to layer
    std::size_t span = 0;     // bytes from the first to the end of the last

    bool is_pageable() const noexcept;
    // Pinned or pageable host memory, which a synchronous call waits for.
    bool is_host() const noexcept;
    // False for arrays without mapped memory: a copy of one fails when it runs.
    bool has_memory() const;
    // Fails if the memory no longer exists.
    std::byte *view(bool write) const;
};

struct Copy {
    CopySide source, destination;
    std::size_t width = 0, height = 0, depth = 0; // bytes, rows, layers

    // Fails with INVALID_VALUE if the memory does not support the copy. An empty copy has null
    // sides.
    explicit Copy(const CUDA_MEMCPY3D_PEER &parameters);
    bool empty() const noexcept { return width == 0 || height == 0 || depth == 0; }
    // Fails if mappings or pools do not permit access by the device that copies.
    void check_access_by(int device) const;
    void run() const;
    std::vector<Use> uses() const;
    // The current contents of the source, row after row.
    std::vector<std::byte> snapshot() const;
};

// Checks the copy against its memory. Work::parameters: CUDA_MEMCPY3D_PEER.
Work copy_work(const CUDA_MEMCPY3D_PEER &copy, const char *what);
// The work of a checked copy. `staged`: a snapshot() to copy instead of the source.
Work work_of(const Copy &copy, const CUDA_MEMCPY3D_PEER &parameters, const char *what);
Work staged_work(const Copy &copy, const CUDA_MEMCPY3D_PEER &parameters, const char *what);

// A copy of one row between addresses.
CUDA_MEMCPY3D_PEER linear_copy(CUmemorytype to, CUdeviceptr destination, CUmemorytype from,
                               CUdeviceptr source, std::size_t bytes);
inline CUdeviceptr address_of(const void *host) noexcept {
    return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(host));
}
// The general form of parameters without contexts.
CUDA_MEMCPY3D_PEER widened(const CUDA_MEMCPY2D &copy);
CUDA_MEMCPY3D_PEER widened(const CUDA_MEMCPY3D &copy);

// The copy between contexts. CUDA_MEMCPY3D has reserved fields in their place.
CUDA_MEMCPY3D_PEER with_contexts(const CUDA_MEMCPY3D &copy, CUcontext destination,
                                 CUcontext source);
CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER &copy);

// Returns the copy; records a misuse if it names a context of another device than its memory's.
CUDA_MEMCPY3D_PEER with_checked_contexts(const CUDA_MEMCPY3D_PEER &copy);

// Implementation of entry points: a copy in the null stream that returns when the API requires it,
// and a copy in a stream. They are described by the name of the entry point.
CUresult copy_now(const CUDA_MEMCPY3D_PEER &parameters);
// A synchronous copy between two named contexts: after all current work of these and of the current
// context, and before all their later work.
CUresult copy_now_between_contexts(const CUDA_MEMCPY3D_PEER &parameters);
CUresult copy_later(CUstream stream, const CUDA_MEMCPY3D_PEER &parameters);

// --- entry points, which ../forwarded.txt lists

// One end of a row: an address, or a place in an array.
struct RowEnd {
    RowEnd(CUdeviceptr device) : type(CU_MEMORYTYPE_DEVICE), address(device) {}
    RowEnd(const void *host) : type(CU_MEMORYTYPE_HOST), address(address_of(host)) {}
    RowEnd(CUarray of, std::size_t at) : type(CU_MEMORYTYPE_ARRAY), array(of), offset(at) {}

    CUmemorytype type;
    CUdeviceptr address = 0;
    CUarray array = nullptr;
    std::size_t offset = 0;
};
CUresult copy_row(RowEnd to, RowEnd from, std::size_t bytes);
CUresult copy_row(RowEnd to, RowEnd from, std::size_t bytes, CUstream stream);
CUresult copy_row_anywhere(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
CUresult copy_row_anywhere(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
// From or to arrays, in a stream if there is one.
CUresult copy_row_of_array(RowEnd to, RowEnd from, std::size_t bytes,
                           std::optional<CUstream> stream);
template <class... Stream>
CUresult copy_to_array(CUarray to, std::size_t at, auto from, std::size_t bytes, Stream... stream) {
    return copy_row_of_array({to, at}, from, bytes, {stream...});
}
template <class... Stream>
CUresult copy_from_array(auto to, CUarray from, std::size_t at, std::size_t bytes,
                         Stream... stream) {
    return copy_row_of_array(to, {from, at}, bytes, {stream...});
}
inline CUresult copy_in_arrays(CUarray to, std::size_t at, CUarray from, std::size_t from_at,
                               std::size_t bytes) {
    return copy_row_of_array({to, at}, {from, from_at}, bytes, {});
}
// Without a context that determines the ABI, the stream, the last argument, is checked.
CUresult refuse_narrow(auto... arguments) {
    if (current_or_null() == nullptr) {
        stream_of(std::get<sizeof...(arguments) - 1>(std::tuple(arguments...)));
    }
    return CUDA_ERROR_INVALID_CONTEXT;
}
// CUDA_MEMCPY2D or CUDA_MEMCPY3D.
template <class Block>
CUresult copy_block(const Block *block) {
    current_context();
    require(block != nullptr);
    return copy_now(widened(*block));
}
template <class Block>
CUresult copy_block(const Block *block, CUstream stream) {
    stream_of(stream);
    require(block != nullptr);
    return copy_later(stream, widened(*block));
}

} // namespace sim
