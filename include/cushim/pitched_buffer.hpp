/* Device memory of rows and layers that is owned, its rows as far apart as the device likes it. */
#ifndef CUSHIM_PITCHED_BUFFER_HPP
#define CUSHIM_PITCHED_BUFFER_HPP

#include <cushim/context.hpp>
#include <cushim/handle.hpp>
#include <cushim/pitched_span.hpp>
#include <cushim/stream.hpp>

namespace cushim {
namespace detail {

// What buffers are behind their T.
struct PitchedBlock {
    CUdeviceptr native = 0;
    Extent extent{0, 0, 0};
    std::size_t row_pitch = 0; // bytes
};

class PitchedMemory : public Owner<PitchedBlock> {
  public:
    PitchedMemory() noexcept = default;

    const Extent &extent() const noexcept { return value().extent; }
    bool empty() const noexcept { return extent().empty(); }
    // Layers follow each other without room.
    Pitch pitch() const noexcept { return {value().row_pitch, extent().height}; }
    // All of it, with what is between the rows.
    std::size_t size_bytes() const noexcept {
        return value().row_pitch * extent().height * extent().depth;
    }

    // Its owner waits for all work in this stream before it lets the memory go: as
    // DeviceBuffer::release_after.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  protected:
    CUSHIM_API static Result<PitchedMemory>
    allocate_rows(const Context &context, const Extent &extent, std::size_t element_size) noexcept;

  private:
    using Owner::Owner;
};

} // namespace detail

/* Elements of T in device memory, uninitialised, freed with their owner: `extent()` of them, each
 * row beginning at a multiple of what suits the device. An empty buffer is valid, has a null
 * address, and never reaches CUDA.
 *
 *     CUSHIM_TRY(auto image, PitchedBuffer<float>::allocate(context, {640, 480}));
 *     CUSHIM_TRY(auto pixels, HostPitchedSpan<float>::of(values, {640, 480}));
 *     CUSHIM_TRY_VOID(copy(context, image.span(), pixels));                        copy_2d.hpp
 *
 * Work that is queued and uses the memory must be done when its owner goes, or release_after() says
 * what to wait for. A const buffer is one that keeps its memory, as a const pointer is; its
 * elements can be written.
 *
 * Threads: the rules of handle.hpp. Needs no current context and does not change it.
 * Errors: out_of_memory; invalid_argument where the bytes of that many elements are more than a
 * size_t holds. */
template <DeviceType T>
class PitchedBuffer : public detail::PitchedMemory {
    static_assert(!std::is_const_v<T>, "the elements of a buffer are written");

  public:
    PitchedBuffer() noexcept = default;

    // cuMemAllocPitch_v2, cuMemFree_v2. Since CUDA 3.2.
    static Result<PitchedBuffer> allocate(const Context &context, const Extent &extent) noexcept {
        return allocate_rows(context, extent, sizeof(T))
            .transform([](PitchedMemory &&memory) noexcept {
                return PitchedBuffer(static_cast<PitchedMemory &&>(memory));
            });
    }

    // For kernels' parameters; host code must not read through it.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }

    // All of it, for copies and kernels; valid as long as the buffer is.
    DevicePitchedSpan<T> span() const noexcept { return {native(), extent(), pitch()}; }
    operator DevicePitchedSpan<T>() const noexcept { return span(); }
    operator DevicePitchedSpan<const T>() const noexcept { return span(); }

  private:
    explicit PitchedBuffer(PitchedMemory &&memory) noexcept
        : PitchedMemory(static_cast<PitchedMemory &&>(memory)) {}
};

template <DeviceType T>
Text to_text(const PitchedBuffer<T> &buffer) noexcept {
    return detail::text_of("PitchedBuffer", buffer, buffer.size_bytes());
}

} // namespace cushim

#endif
