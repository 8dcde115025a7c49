/* Owned device memory with rows and layers, in the pitch that suits the device. */
#ifndef CUSHIM_PITCHED_BUFFER_HPP
#define CUSHIM_PITCHED_BUFFER_HPP

#include <cushim/context.hpp>
#include <cushim/detail/pitched_memory.hpp>
#include <cushim/pitched_span.hpp>
#include <cushim/stream.hpp>

namespace cushim {

/* `extent()` uninitialised elements of T in device memory; each row begins at a multiple that suits
 * the device. A buffer with no elements is valid, has a null address, and makes no CUDA call. const
 * applies to the ownership, not to the elements, as in `T *const`.
 *
 *     CUSHIM_TRY(auto image, PitchedBuffer<float>::allocate(context, {640, 480}));
 *     CUSHIM_TRY(auto pixels, HostPitchedSpan<float>::of(values, {640, 480}));
 *     CUSHIM_TRY_VOID(copy(context, image.span(), pixels));                        copy_2d.hpp
 *
 * The memory is freed immediately on destruction. Before that, all work that uses it must have
 * completed, or its stream must have been passed to release_after().
 *
 * Threads and context: see handle.hpp.
 * Errors: out_of_memory; invalid_argument if the size in bytes exceeds std::size_t. */
template <DeviceType T>
class PitchedBuffer : public detail::PitchedMemory {
    static_assert(!std::is_const_v<T>,
                  "T must not be const. Use DevicePitchedSpan<const T> for a read-only view.");

  public:
    PitchedBuffer() noexcept = default;

    // Allocates elements on the context's device. cuMemAllocPitch_v2, cuMemFree_v2.
    static Result<PitchedBuffer> allocate(const Context &context, const Extent &extent) noexcept {
        return allocate_rows(context, extent, sizeof(T))
            .transform([](PitchedMemory &&memory) noexcept {
                return PitchedBuffer(static_cast<PitchedMemory &&>(memory));
            });
    }

    // Whether the buffer has no elements.
    using PitchedMemory::empty;
    // The size in elements, rows and layers.
    using PitchedMemory::extent;
    // The distance of the rows; layers are adjacent.
    using PitchedMemory::pitch;
    // Bytes, including those between rows.
    using PitchedMemory::size_bytes;

    // The address, for kernel parameters. Host code must not dereference it.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }

    // A view of the whole buffer, for copies and kernels; valid as long as the buffer.
    DevicePitchedSpan<T> span() const noexcept { return {native(), extent(), pitch()}; }
    operator DevicePitchedSpan<T>() const noexcept { return span(); }
    operator DevicePitchedSpan<const T>() const noexcept { return span(); }

    // Before the memory is freed, the destructor waits for all work in this stream: see
    // DeviceBuffer::release_after().
    Result<void> release_after(const Stream &stream) const noexcept {
        return PitchedMemory::release_after(stream);
    }

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
