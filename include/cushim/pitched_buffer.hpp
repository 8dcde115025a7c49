/* Owned device memory with rows and layers, in the pitch that suits the device. */
#ifndef CUSHIM_PITCHED_BUFFER_HPP
#define CUSHIM_PITCHED_BUFFER_HPP

#include <cushim/context.hpp>
#include <cushim/pitched_span.hpp>
#include <cushim/typed_buffer.hpp>

namespace cushim {

namespace detail {

// A buffer without its element type.
struct PitchedBlock {
    CUdeviceptr native = 0;
    Extent extent{0, 0, 0};
    std::size_t row_pitch = 0; // bytes
};

class PitchedMemory : public Owner<PitchedBlock> {
  public:
    static constexpr BufferKind kind{.names = {"PitchedBuffer", "PitchedBuffer::close",
                                               "PitchedBuffer::release_after",
                                               "PitchedBuffer::to_vector"},
                                     .has_rows = true};

    PitchedMemory() noexcept = default;
    CUSHIM_API static Result<PitchedMemory> allocate(const Context &context, const Extent &extent,
                                                     std::size_t element_size) noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

    const Extent &extent() const noexcept { return value().extent; }
    Pitch pitch() const noexcept { return {value().row_pitch, extent().height}; }
    std::size_t size_bytes() const noexcept {
        return value().row_pitch * extent().height * extent().depth;
    }

    template <class T>
    DevicePitchedSpan<T> span() const noexcept {
        return {native(), extent(), pitch()};
    }

  private:
    using Owner::Owner;
};

} // namespace detail

/* `extent()` uninitialised elements of T in device memory. CUDA chooses the distance of the rows,
 * so that each row is aligned as the device prefers. See typed_buffer.hpp.
 *
 *     CUSHIM_TRY(auto image, PitchedBuffer<float>::allocate(context, {640, 480}));
 *     CUSHIM_TRY(auto pixels, HostPitchedSpan<float>::of(values, {640, 480}));
 *     CUSHIM_TRY_VOID(cushim::copy(image, pixels)); */
template <DeviceType T>
class PitchedBuffer : public TypedBuffer<T, detail::PitchedMemory> {
    using Memory = detail::PitchedMemory;
    using Base = TypedBuffer<T, Memory>;

  public:
    using Base::Base;

    // Allocates elements on the context's device. cuMemAllocPitch_v2, cuMemFree_v2.
    static Result<PitchedBuffer> allocate(const Context &context, const Extent &extent) noexcept {
        return Memory::allocate(context, extent, sizeof(T));
    }

    // The size in elements, rows and layers.
    const Extent &extent() const noexcept { return this->memory().extent(); }
    // The distance of the rows in bytes, and that of the layers in rows; layers are adjacent.
    Pitch pitch() const noexcept { return this->memory().pitch(); }
};

} // namespace cushim

#endif
