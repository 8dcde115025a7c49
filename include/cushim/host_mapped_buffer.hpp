/* Zero-copy memory: the host's, and at the same time in the address space of devices. */
#ifndef CUSHIM_HOST_MAPPED_BUFFER_HPP
#define CUSHIM_HOST_MAPPED_BUFFER_HPP

#include <span>

#include <cushim/event.hpp>
#include <cushim/host_memory.hpp>
#include <cushim/stream.hpp>

namespace cushim {

/* `size()` elements of T in host memory that kernels read and write in its place, over the bus.
 * Freed with their owner. An empty buffer is valid, has null addresses, and never reaches CUDA.
 *
 *     CUSHIM_TRY(auto values, HostMappedBuffer<float>::allocate(context, 1000));
 *     values.host_span()[0] = 1;
 *     ... a kernel in `stream` works on values.device_data() ...
 *     CUSHIM_TRY(auto results, values.host_span_after(stream));
 *
 * Host and device have it at addresses of their own, which may be the same: each uses its own.
 *
 * Work that is queued and uses the memory must be done when its owner goes, or release_after() says
 * what to wait for. A const buffer is one that keeps its memory, as a const pointer is; its
 * elements can be written.
 *
 * Threads: the rules of handle.hpp. Needs no current context and does not change it.
 * Errors: out_of_memory; invalid_argument where the bytes of `size` elements are more than a size_t
 * holds. cuMemHostAlloc, cuMemHostGetDevicePointer_v2, cuMemFreeHost. Since CUDA 3.2. */
template <AllocatableType T>
class HostMappedBuffer : public detail::HostMemory {
    static_assert(!std::is_const_v<T>, "the elements of a buffer are written");

  public:
    HostMappedBuffer() noexcept = default;

    // CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED.
    static Result<HostMappedBuffer> allocate(const Context &context, std::size_t size,
                                             const PinnedOptions &options = {}) noexcept {
        return HostMemory::allocate<T>(context, size, detail::DeviceMapped::yes, options)
            .transform(own);
    }

    // Takes over memory that cuMemHostAlloc gave; on failure it stays the caller's.
    static Result<HostMappedBuffer> adopt(const Context &context, T *data,
                                          std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return HostMemory::adopt(context, data, bytes, detail::DeviceMapped::yes).transform(own);
    }

    std::size_t size() const noexcept { return size_bytes() / sizeof(T); }
    bool empty() const noexcept { return size() == 0; }

    T *host_data() const noexcept { return static_cast<T *>(native()); }
    // For kernels' parameters; host code must not read through it.
    T *device_data() const noexcept { return reinterpret_cast<T *>(device_address()); }
    // For kernels, and for copies and fills: copy.hpp.
    DeviceSpan<T> device_span() const noexcept { return {device_address(), size()}; }

    // For the host. Nobody waits here: not while the device may write it, nor to write to while it
    // may read it. CUDA orders nothing between the two but by waiting for a stream or an event.
    std::span<T> host_span() const noexcept { return {host_data(), size()}; }

    // The same, after waiting for all work that is queued in the stream; for the event. Right where
    // that is all work that uses the memory. cuStreamSynchronize; cuEventSynchronize.
    Result<std::span<T>> host_span_after(const Stream &stream) const noexcept {
        CUSHIM_TRY_VOID(stream.synchronize());
        return host_span();
    }
    Result<std::span<T>> host_span_after(const Event &event) const noexcept {
        CUSHIM_TRY_VOID(event.synchronize());
        return host_span();
    }

  private:
    explicit HostMappedBuffer(HostMemory &&memory) noexcept
        : HostMemory(static_cast<HostMemory &&>(memory)) {}
    static HostMappedBuffer own(HostMemory &&memory) noexcept {
        return HostMappedBuffer(static_cast<HostMemory &&>(memory));
    }
};

template <AllocatableType T>
Text to_text(const HostMappedBuffer<T> &buffer) noexcept {
    return detail::text_of("HostMappedBuffer", buffer, buffer.size_bytes());
}

} // namespace cushim

#endif
