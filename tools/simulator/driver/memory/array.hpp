// Arrays and mipmapped arrays: rows without gaps, layer after layer.
#pragma once

#include "engine/memory.hpp"
#include "engine/object.hpp"

#include <cstddef>
#include <memory>
#include <vector>

struct CUmipmappedArray_st;

struct CUarray_st final : sim::Object {
    // `place` is the hidden range that owns the bytes; see make_array().
    CUarray_st(CUctx_st &owner, const CUDA_ARRAY3D_DESCRIPTOR &description);
    ~CUarray_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::array;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::size_t row_bytes() const noexcept;
    std::size_t rows() const noexcept { return descriptor.Height == 0 ? 1 : descriptor.Height; }
    std::size_t slices() const noexcept { return descriptor.Depth == 0 ? 1 : descriptor.Depth; }
    std::size_t bytes() const noexcept { return row_bytes() * rows() * slices(); }
    // Null without memory: a deferred or sparse array to which nothing is mapped.
    std::byte *view() const noexcept { return backing ? backing->view() + offset : nullptr; }

    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    int device;
    std::shared_ptr<sim::Backing> backing;
    std::size_t offset = 0;               // offset of its first byte in the backing
    CUmipmappedArray_st *whole = nullptr; // the mipmapped array it belongs to
    std::uintptr_t place = 0; // base of the hidden range; levels share that of the whole
};

struct CUmipmappedArray_st final : sim::Object {
    CUmipmappedArray_st(CUctx_st &owner, const CUDA_ARRAY3D_DESCRIPTOR &description);
    ~CUmipmappedArray_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::mipmapped_array;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    std::vector<CUarray_st *> levels;
    std::uintptr_t place = 0;
};

namespace sim {

using Array = CUarray_st;
using MipmappedArray = CUmipmappedArray_st;

// Bytes of an element with all its channels; 0 if format and channels do not match.
std::size_t element_size(CUarray_format format, unsigned int channels) noexcept;
// Fails with INVALID_VALUE for a description that the device does not support.
void check_array_description(const CUDA_ARRAY3D_DESCRIPTOR &description, int device);

Array &make_array(CUctx_st &owner, const CUDA_ARRAY3D_DESCRIPTOR &description);
// `bytes`: memory of the levels, one after the other; null: allocates it.
MipmappedArray &make_mipmapped_array(CUctx_st &owner, const CUDA_ARRAY3D_DESCRIPTOR &description,
                                     unsigned int levels, std::shared_ptr<Backing> bytes = nullptr);
// Bytes of all levels.
std::size_t mipmapped_bytes(const CUDA_ARRAY3D_DESCRIPTOR &description, unsigned int levels);

} // namespace sim
