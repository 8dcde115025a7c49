/* Owned managed memory: it has one address for the host and all devices, and the driver moves it to
 * where it is used. */
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

// Which streams can access managed memory, and whether the host can, on devices that cannot use it
// concurrently with the host (CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS is 0). The values are
// CU_MEM_ATTACH_...
enum class ManagedAttachment : unsigned int {
    global = 1, // all streams; the host only while no device works
    host = 2,   // the host, and no stream
    single = 4, // one stream; the host only while that stream has no work
};
CUSHIM_API Text to_text(ManagedAttachment attachment) noexcept;

// A location of managed memory: a device or the host. A Device converts to it.
class ManagedLocation {
  public:
    // A device, or the host.
    constexpr ManagedLocation(Device device) noexcept : native_(device.native()) {}
    static constexpr ManagedLocation host() noexcept { return {}; }

    // The CUdevice; CU_DEVICE_CPU for the host.
    constexpr CUdevice native() const noexcept { return native_; }

  private:
    constexpr ManagedLocation() noexcept = default;

    CUdevice native_ = CU_DEVICE_CPU;
};

// How ManagedBuffer allocates.
struct ManagedOptions {
    ManagedAttachment attachment = ManagedAttachment::global; // global or host
};

/* `size()` uninitialised elements of T in managed memory. A buffer with no elements is valid, has a
 * null address, and makes no CUDA call. const applies to the ownership, not to the elements, as in
 * `T *const`.
 *
 * The memory is freed immediately on destruction. Before that, all work that uses it must have
 * completed, or its stream must have been passed to release_after().
 *
 * Threads and context: see handle.hpp.
 * Errors: out_of_memory (more than the device has is allowed if memory can be moved away);
 * not_supported_by_device; invalid_argument if the size in bytes exceeds std::size_t, and for parts
 * that exceed the buffer. */
template <AllocatableType T>
class ManagedBuffer : public detail::ManagedMemory {
    static_assert(!std::is_const_v<T>,
                  "T must not be const. Use DeviceSpan<const T> for a read-only view.");

  public:
    ManagedBuffer() noexcept = default;

    // Allocates `size` elements. cuMemAllocManaged, cuMemFree_v2.
    static Result<ManagedBuffer> allocate(const Context &context, std::size_t size,
                                          const ManagedOptions &options = {}) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(size, sizeof(T), "ManagedBuffer::allocate"));
        return allocate_bytes(context, bytes, options).transform(own);
    }

    // Owns memory from cuMemAllocManaged; on failure the caller keeps it.
    static Result<ManagedBuffer> adopt(const Context &context, CUdeviceptr address,
                                       std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(size, sizeof(T), "ManagedBuffer::adopt"));
        return adopt_bytes(context, address, bytes).transform(own);
    }

    // The address, for the host and kernels.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }
    // The number of elements.
    std::size_t size() const noexcept { return size_bytes() / sizeof(T); }
    // The size in bytes.
    using ManagedMemory::size_bytes;
    // Whether size() is 0.
    bool empty() const noexcept { return size() == 0; }

    // A view of all elements, for kernels, copies and fills.
    DeviceSpan<T> device_span() const noexcept { return {native(), size()}; }

    // A view of all elements, for the host. Does not wait: the elements must not be read while a
    // device may write them, nor written while a device may read them. The attachment may forbid
    // access while a device works.
    std::span<T> host_span() const noexcept { return {data(), size()}; }

    // Waits for all work in the stream, or for the event, and returns host_span().
    // cuStreamSynchronize; cuEventSynchronize.
    Result<std::span<T>> host_span_after(const Stream &stream) const noexcept {
        CUSHIM_TRY_VOID(detail::named(stream.synchronize(), "ManagedBuffer::host_span_after"));
        return host_span();
    }
    Result<std::span<T>> host_span_after(const Event &event) const noexcept {
        CUSHIM_TRY_VOID(detail::named(event.synchronize(), "ManagedBuffer::host_span_after"));
        return host_span();
    }

    /* Advises the driver about the use of the memory (CU_MEM_ADVISE_...): the whole buffer, or
     * `count` elements starting at `offset`; CUDA rounds to pages. Without elements, no CUDA call
     * is made. The location is ignored for READ_MOSTLY and for UNSET_PREFERRED_LOCATION.
     * cuMemAdvise. */
    Result<void> advise(CUmem_advise advice, ManagedLocation location) const noexcept {
        return advise_part(advice, location, {0, size_bytes()});
    }
    Result<void> advise(CUmem_advise advice, ManagedLocation location, std::size_t offset,
                        std::size_t count) const noexcept {
        CUSHIM_TRY(const auto part, part_of(offset, count, "ManagedBuffer::advise"));
        return advise_part(advice, location, part);
    }

    // Enqueues a move of the whole buffer, or of `count` elements starting at `offset`, to the
    // location. cuMemPrefetchAsync.
    Result<void> prefetch(const Stream &stream, ManagedLocation location) const noexcept {
        return prefetch_part(stream, location, {0, size_bytes()});
    }
    Result<void> prefetch(const Stream &stream, ManagedLocation location, std::size_t offset,
                          std::size_t count) const noexcept {
        CUSHIM_TRY(const auto part, part_of(offset, count, "ManagedBuffer::prefetch"));
        return prefetch_part(stream, location, part);
    }

    // Attaches the whole allocation as `attachment` says, once the stream reaches this point. With
    // `single`, the stream must not be legacy() or per_thread(); when the stream is destroyed, the
    // original attachment applies again. cuStreamAttachMemAsync.
    Result<void> attach(const Stream &stream, ManagedAttachment attachment) const noexcept {
        return ManagedMemory::attach(stream, attachment);
    }

    // Before the memory is freed, the destructor waits for all work in this stream: see
    // DeviceBuffer::release_after().
    Result<void> release_after(const Stream &stream) const noexcept {
        return ManagedMemory::release_after(stream);
    }

  private:
    explicit ManagedBuffer(ManagedMemory &&memory) noexcept
        : ManagedMemory(static_cast<ManagedMemory &&>(memory)) {}
    static ManagedBuffer own(ManagedMemory &&memory) noexcept {
        return ManagedBuffer(static_cast<ManagedMemory &&>(memory));
    }
    Result<detail::ManagedPart> part_of(std::size_t offset, std::size_t count,
                                        const char *function) const noexcept {
        CUSHIM_TRY_VOID(detail::check_range(offset, count, size(), "elements", function));
        return detail::ManagedPart{offset * sizeof(T), count * sizeof(T)};
    }
};

template <AllocatableType T>
Text to_text(const ManagedBuffer<T> &buffer) noexcept {
    return detail::text_of("ManagedBuffer", buffer, buffer.size_bytes());
}

} // namespace cushim

#endif
