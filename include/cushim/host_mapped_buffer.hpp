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
 * no elements is valid, has null addresses, and makes no CUDA call. const applies to the ownership,
 * not to the elements, as in `T *const`.
 *
 *     CUSHIM_TRY(auto values, HostMappedBuffer<float>::allocate(context, 1000));
 *     values.host_span()[0] = 1;
 *     ... a kernel in `stream` works on values.device_data() ...
 *     CUSHIM_TRY(auto results, values.host_span_after(stream));
 *
 * Host and device may have different addresses for the memory: each must use its own.
 *
 * The memory is freed immediately on destruction. Before that, all work that uses it must have
 * completed, or its stream must have been passed to release_after().
 *
 * Threads and context: see handle.hpp.
 * Errors: out_of_memory; invalid_argument if the size in bytes exceeds std::size_t.
 * cuMemHostAlloc, cuMemHostGetDevicePointer_v2, cuMemFreeHost. */
template <AllocatableType T>
class HostMappedBuffer : public detail::HostMemory {
    static_assert(!std::is_const_v<T>,
                  "T must not be const. Use DeviceSpan<const T> for a read-only view.");

  public:
    HostMappedBuffer() noexcept = default;

    // Allocates `size` elements, with CU_MEMHOSTALLOC_DEVICEMAP, and with CU_MEMHOSTALLOC_PORTABLE
    // and CU_MEMHOSTALLOC_WRITECOMBINED as the options say.
    static Result<HostMappedBuffer> allocate(const Context &context, std::size_t size,
                                             const PinnedOptions &options = {}) noexcept {
        return detail::named(
                   HostMemory::allocate<T>(context, size, detail::DeviceMapped::yes, options),
                   "HostMappedBuffer::allocate")
            .transform(own);
    }

    // Owns memory from cuMemHostAlloc; on failure the caller keeps it.
    static Result<HostMappedBuffer> adopt(const Context &context, T *data,
                                          std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(size, sizeof(T), "HostMappedBuffer::adopt"));
        return detail::named(HostMemory::adopt(context, data, bytes, detail::DeviceMapped::yes),
                             "HostMappedBuffer::adopt")
            .transform(own);
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
        CUSHIM_TRY_VOID(detail::named(stream.synchronize(), "HostMappedBuffer::host_span_after"));
        return host_span();
    }
    Result<std::span<T>> host_span_after(const Event &event) const noexcept {
        CUSHIM_TRY_VOID(detail::named(event.synchronize(), "HostMappedBuffer::host_span_after"));
        return host_span();
    }

    // See PinnedBuffer::flags.
    Result<unsigned int> flags() const noexcept {
        return detail::named(HostMemory::flags(), "HostMappedBuffer::flags");
    }
    // Before the memory is released, the destructor waits for all work in this stream: see
    // DeviceBuffer::release_after().
    Result<void> release_after(const Stream &stream) const noexcept {
        return detail::named(HostMemory::release_after(stream), "HostMappedBuffer::release_after");
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
