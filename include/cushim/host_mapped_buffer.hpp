/* Owned zero-copy memory: host memory that is mapped into the address space of devices. */
#ifndef CUSHIM_HOST_MAPPED_BUFFER_HPP
#define CUSHIM_HOST_MAPPED_BUFFER_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/detail/host_memory.hpp>
#include <cushim/device_span.hpp>
#include <cushim/event.hpp>
#include <cushim/host_memory.hpp>
#include <cushim/stream.hpp>

namespace cushim {

/* `size()` elements of T in host memory that kernels access in place, over the bus. A buffer with
 * no elements is valid, has null addresses, and makes no CUDA call. A const buffer keeps its
 * memory, as a const pointer does; its elements can be written.
 *
 *     CUSHIM_TRY(auto values, HostMappedBuffer<float>::allocate(context, 1000));
 *     values.host_span()[0] = 1;
 *     ... a kernel in `stream` works on values.device_data() ...
 *     CUSHIM_TRY(auto results, values.host_span_after(stream));
 *
 * Host and device may have different addresses for the memory: each must use its own.
 *
 * The memory is freed immediately on destruction. All work that uses it must have completed, or be
 * named with release_after().
 *
 * Threads: see handle.hpp.
 * Context: none required, none changed.
 * Errors: out_of_memory; invalid_argument if the size in bytes exceeds std::size_t.
 * cuMemHostAlloc, cuMemHostGetDevicePointer_v2, cuMemFreeHost. Requires CUDA 3.2. */
template <AllocatableType T>
class HostMappedBuffer : public detail::HostMemory {
    static_assert(!std::is_const_v<T>, "the elements of a buffer are written");

  public:
    HostMappedBuffer() noexcept = default;

    // Allocates `size` elements, with CU_MEMHOSTALLOC_DEVICEMAP, and with CU_MEMHOSTALLOC_PORTABLE
    // and CU_MEMHOSTALLOC_WRITECOMBINED as the options say.
    static Result<HostMappedBuffer> allocate(const Context &context, std::size_t size,
                                             const PinnedOptions &options = {}) noexcept {
        return HostMemory::allocate<T>(context, size, detail::DeviceMapped::yes, options)
            .transform(own);
    }

    // Owns memory from cuMemHostAlloc; on failure the caller keeps it.
    static Result<HostMappedBuffer> adopt(const Context &context, T *data,
                                          std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return HostMemory::adopt(context, data, bytes, detail::DeviceMapped::yes).transform(own);
    }

    // The number of elements.
    std::size_t size() const noexcept { return size_bytes() / sizeof(T); }
    // The size in bytes.
    using HostMemory::size_bytes;
    // Whether size() is 0.
    bool empty() const noexcept { return size() == 0; }

    // The address on the host.
    T *host_data() const noexcept { return static_cast<T *>(native()); }
    // The address on devices, for kernel parameters. Host code must not dereference it.
    T *device_data() const noexcept { return reinterpret_cast<T *>(device_address()); }
    // A view of all elements, for kernels, copies and fills.
    DeviceSpan<T> device_span() const noexcept { return {device_address(), size()}; }

    // A view of all elements, for the host. Does not wait: the elements must not be read while a
    // device may write them, nor written while a device may read them. Only waiting for a stream or
    // an event orders the two.
    std::span<T> host_span() const noexcept { return {host_data(), size()}; }

    // Waits for all work in the stream, or for the event, and returns host_span(). That must
    // include all work that uses the memory. cuStreamSynchronize; cuEventSynchronize.
    Result<std::span<T>> host_span_after(const Stream &stream) const noexcept {
        CUSHIM_TRY_VOID(stream.synchronize());
        return host_span();
    }
    Result<std::span<T>> host_span_after(const Event &event) const noexcept {
        CUSHIM_TRY_VOID(event.synchronize());
        return host_span();
    }

    // See PinnedBuffer::flags.
    using HostMemory::flags;
    // Before the memory is released, the destructor waits for all work in this stream: see
    // DeviceBuffer::release_after().
    using HostMemory::release_after;

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
