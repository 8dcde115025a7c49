/* Managed memory: at one address for the host and all devices, moved by the driver to who uses
 * it. */
#ifndef CUSHIM_MANAGED_BUFFER_HPP
#define CUSHIM_MANAGED_BUFFER_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/device_span.hpp>
#include <cushim/event.hpp>
#include <cushim/handle.hpp>
#include <cushim/stream.hpp>
#include <cushim/text.hpp>

namespace cushim {

// Who may use managed memory on devices that cannot share it with the host while they work
// (CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS is 0): CU_MEM_ATTACH_....
enum class ManagedAttachment : unsigned int {
    global = 1, // all streams; the host while no device works
    host = 2,   // the host, and no stream
    single = 4, // one stream; the host while nothing is queued there
};
CUSHIM_API Text to_text(ManagedAttachment attachment) noexcept;

// Where managed memory may be: at a device, or with the host. A device is one by itself.
class ManagedLocation {
  public:
    constexpr ManagedLocation(Device device) noexcept : native_(device.native()) {}
    static constexpr ManagedLocation host() noexcept { return {}; }

    // CU_DEVICE_CPU for the host.
    constexpr CUdevice native() const noexcept { return native_; }

  private:
    constexpr ManagedLocation() noexcept = default;

    CUdevice native_ = CU_DEVICE_CPU;
};

struct ManagedOptions {
    ManagedAttachment attachment = ManagedAttachment::global; // or host
};

namespace detail {

// What buffers are behind their T.
struct ManagedBlock {
    CUdeviceptr native = 0;
    std::size_t size = 0;     // bytes
    bool zero_length = false; // allocated with no elements: valid, unlike an empty owner
};

// In bytes.
struct ManagedPart {
    std::size_t offset;
    std::size_t size;
};

class ManagedMemory : public Owner<ManagedBlock> {
  public:
    ManagedMemory() noexcept = default;

    std::size_t size_bytes() const noexcept { return value().size; }

    // Its owner waits for all work in this stream before it lets the memory go: as
    // DeviceBuffer::release_after.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

    // Moves all of the memory to whom it is for from when the stream gets there. Where it is
    // `single`, the stream must not be legacy() or per_thread(), and its end makes the memory what
    // it was made as. cuStreamAttachMemAsync. Since CUDA 6.0.
    CUSHIM_API Result<void> attach(const Stream &stream,
                                   ManagedAttachment attachment) const noexcept;

  protected:
    CUSHIM_API static Result<ManagedMemory> allocate_bytes(const Context &context,
                                                           std::size_t bytes,
                                                           const ManagedOptions &options) noexcept;
    CUSHIM_API static Result<ManagedMemory> adopt_bytes(const Context &context, CUdeviceptr address,
                                                        std::size_t bytes) noexcept;
    CUSHIM_API Result<void> advise_part(CUmem_advise advice, ManagedLocation location,
                                        const ManagedPart &part) const noexcept;
    CUSHIM_API Result<void> prefetch_part(const Stream &stream, ManagedLocation location,
                                          const ManagedPart &part) const noexcept;

  private:
    using Owner::Owner;
};

} // namespace detail

/* `size()` elements of T in managed memory, uninitialised, freed with their owner. An empty buffer
 * is valid, has a null address, and never reaches CUDA.
 *
 * Work that is queued and uses the memory must be done when its owner goes, or release_after() says
 * what to wait for. A const buffer is one that keeps its memory, as a const pointer is; its
 * elements can be written.
 *
 * Threads: the rules of handle.hpp. Needs no current context and does not change it.
 * Errors: out_of_memory, more than the device has being allowed where it can be moved away;
 * not_supported_by_device; invalid_argument where the bytes of `size` elements are more than a
 * size_t holds, and for parts that are not in the buffer. Since CUDA 8.0 where nothing else is
 * said. */
template <AllocatableType T>
class ManagedBuffer : public detail::ManagedMemory {
    static_assert(!std::is_const_v<T>, "the elements of a buffer are written");

  public:
    ManagedBuffer() noexcept = default;

    // cuMemAllocManaged, cuMemFree_v2. Since CUDA 6.0.
    static Result<ManagedBuffer> allocate(const Context &context, std::size_t size,
                                          const ManagedOptions &options = {}) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return allocate_bytes(context, bytes, options).transform(own);
    }

    // Takes over memory that cuMemAllocManaged gave.
    static Result<ManagedBuffer> adopt(const Context &context, CUdeviceptr address,
                                       std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return adopt_bytes(context, address, bytes).transform(own);
    }

    // For host and kernels alike.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }
    std::size_t size() const noexcept { return size_bytes() / sizeof(T); }
    bool empty() const noexcept { return size() == 0; }

    // For kernels, and for copies and fills: copy.hpp.
    DeviceSpan<T> device_span() const noexcept { return {native(), size()}; }

    // For the host. Nobody waits here: not while the device may write it, nor to write to while it
    // may read it; where the attachment says so, not while it works at all.
    std::span<T> host_span() const noexcept { return {data(), size()}; }

    // The same, after waiting for all work that is queued in the stream; for the event.
    // cuStreamSynchronize; cuEventSynchronize.
    Result<std::span<T>> host_span_after(const Stream &stream) const noexcept {
        CUSHIM_TRY_VOID(stream.synchronize());
        return host_span();
    }
    Result<std::span<T>> host_span_after(const Event &event) const noexcept {
        CUSHIM_TRY_VOID(event.synchronize());
        return host_span();
    }

    /* Advice on how it will be used, CU_MEM_ADVISE_..., for all of it or for `count` elements from
     * `offset` on; CUDA rounds to pages. Advice to be read mostly, and to prefer no location, has
     * no use for the location. cuMemAdvise. */
    Result<void> advise(CUmem_advise advice, ManagedLocation location) const noexcept {
        return advise_part(advice, location, {0, size_bytes()});
    }
    Result<void> advise(CUmem_advise advice, ManagedLocation location, std::size_t offset,
                        std::size_t count) const noexcept {
        CUSHIM_TRY(const auto part, part_of(offset, count));
        return advise_part(advice, location, part);
    }

    // Moves it there when the stream gets to it, likewise. cuMemPrefetchAsync.
    Result<void> prefetch(const Stream &stream, ManagedLocation location) const noexcept {
        return prefetch_part(stream, location, {0, size_bytes()});
    }
    Result<void> prefetch(const Stream &stream, ManagedLocation location, std::size_t offset,
                          std::size_t count) const noexcept {
        CUSHIM_TRY(const auto part, part_of(offset, count));
        return prefetch_part(stream, location, part);
    }

  private:
    explicit ManagedBuffer(ManagedMemory &&memory) noexcept
        : ManagedMemory(static_cast<ManagedMemory &&>(memory)) {}
    static ManagedBuffer own(ManagedMemory &&memory) noexcept {
        return ManagedBuffer(static_cast<ManagedMemory &&>(memory));
    }
    Result<detail::ManagedPart> part_of(std::size_t offset, std::size_t count) const noexcept {
        CUSHIM_TRY_VOID(detail::check_range(offset, count, size()));
        return detail::ManagedPart{offset * sizeof(T), count * sizeof(T)};
    }
};

template <AllocatableType T>
Text to_text(const ManagedBuffer<T> &buffer) noexcept {
    return detail::text_of("ManagedBuffer", buffer, buffer.size_bytes());
}

} // namespace cushim

#endif
