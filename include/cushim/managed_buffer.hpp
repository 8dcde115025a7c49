/* Managed memory: at one address for the host and all devices; the driver moves it where it is
 * used. */
#ifndef CUSHIM_MANAGED_BUFFER_HPP
#define CUSHIM_MANAGED_BUFFER_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/detail/managed_memory.hpp>
#include <cushim/device_span.hpp>
#include <cushim/event.hpp>
#include <cushim/stream.hpp>
#include <cushim/text.hpp>

namespace cushim {

// Access to managed memory on devices that cannot use it concurrently with the host
// (CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS is 0). The values are CU_MEM_ATTACH_...
enum class ManagedAttachment : unsigned int {
    global = 1, // all streams; the host while no device works
    host = 2,   // the host, and no stream
    single = 4, // one stream; the host while that stream has no work
};
CUSHIM_API Text to_text(ManagedAttachment attachment) noexcept;

// A location of managed memory: a device or the host. A Device converts to it.
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

/* `size()` uninitialised elements of T in managed memory. A buffer with no elements is valid, has a
 * null address, and makes no CUDA call. A const buffer keeps its memory, as a const pointer does;
 * its elements can be written.
 *
 * The memory is freed immediately on destruction. All work that uses it must have completed, or be
 * named with release_after().
 *
 * Threads: see handle.hpp.
 * Context: none required, none changed.
 * Errors: out_of_memory (more than the device has is allowed if memory can be moved away);
 * not_supported_by_device; invalid_argument if the size in bytes exceeds std::size_t, and for parts
 * that exceed the buffer. Requires CUDA 8.0 unless stated otherwise. */
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

    // Owns memory from cuMemAllocManaged.
    static Result<ManagedBuffer> adopt(const Context &context, CUdeviceptr address,
                                       std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return adopt_bytes(context, address, bytes).transform(own);
    }

    // For the host and kernels.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }
    std::size_t size() const noexcept { return size_bytes() / sizeof(T); }
    using ManagedMemory::size_bytes;
    bool empty() const noexcept { return size() == 0; }

    // For kernels, copies and fills.
    DeviceSpan<T> device_span() const noexcept { return {native(), size()}; }

    // For the host; does not wait. Must not be read while the device may write the memory, nor
    // written while the device may read it. The attachment may forbid access while the device
    // works.
    std::span<T> host_span() const noexcept { return {data(), size()}; }

    // The same after waiting for all work in the stream, or for the event. cuStreamSynchronize;
    // cuEventSynchronize.
    Result<std::span<T>> host_span_after(const Stream &stream) const noexcept {
        CUSHIM_TRY_VOID(stream.synchronize());
        return host_span();
    }
    Result<std::span<T>> host_span_after(const Event &event) const noexcept {
        CUSHIM_TRY_VOID(event.synchronize());
        return host_span();
    }

    /* Advice about its use, CU_MEM_ADVISE_..., for the whole buffer or for `count` elements
     * starting at `offset`; CUDA rounds to pages. The location is ignored for READ_MOSTLY and for
     * UNSET_PREFERRED_LOCATION. cuMemAdvise. */
    Result<void> advise(CUmem_advise advice, ManagedLocation location) const noexcept {
        return advise_part(advice, location, {0, size_bytes()});
    }
    Result<void> advise(CUmem_advise advice, ManagedLocation location, std::size_t offset,
                        std::size_t count) const noexcept {
        CUSHIM_TRY(const auto part, part_of(offset, count));
        return advise_part(advice, location, part);
    }

    // Moves the same part to the location, in stream order. cuMemPrefetchAsync.
    Result<void> prefetch(const Stream &stream, ManagedLocation location) const noexcept {
        return prefetch_part(stream, location, {0, size_bytes()});
    }
    Result<void> prefetch(const Stream &stream, ManagedLocation location, std::size_t offset,
                          std::size_t count) const noexcept {
        CUSHIM_TRY(const auto part, part_of(offset, count));
        return prefetch_part(stream, location, part);
    }

    // Attaches the whole allocation as `attachment` says, once the stream reaches this point. With
    // `single`, the stream must not be legacy() or per_thread(); when the stream is destroyed, the
    // original attachment applies again. cuStreamAttachMemAsync. Since CUDA 6.0.
    using ManagedMemory::attach;

    // Before the memory is freed, the destructor waits for all work in this stream: see
    // DeviceBuffer::release_after().
    using ManagedMemory::release_after;

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
