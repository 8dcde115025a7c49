/* Owned pinned host memory: copies between it and devices are fastest, and asynchronous. */
#ifndef CUSHIM_HOST_BUFFER_HPP
#define CUSHIM_HOST_BUFFER_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/detail/host_memory.hpp>
#include <cushim/device_span.hpp>
#include <cushim/event.hpp>
#include <cushim/host_memory.hpp>
#include <cushim/stream.hpp>

namespace cushim {

/* `size()` elements of T in pinned host memory. A contiguous range, as std::vector is; it converts
 * to std::span. A buffer with no elements is valid, has a null address, and makes no CUDA call.
 * const applies to the ownership, not to the elements, as in `T *const`.
 *
 *     CUSHIM_TRY(auto pinned, PinnedBuffer<float>::allocate(context, 1000));
 *     CUSHIM_TRY_VOID(copy(stream, pinned.span(), buffer));       returns at once
 *     CUSHIM_TRY(auto values, pinned.span_after(stream));         waits
 *
 * The memory is freed immediately on destruction. Before that, all work that uses it must have
 * completed, or its stream must have been passed to release_after(). Kernels use HostMappedBuffer
 * instead.
 *
 * Threads and context: see handle.hpp.
 * Errors: out_of_memory; invalid_argument if the size in bytes exceeds std::size_t.
 * cuMemHostAlloc, cuMemFreeHost. */
template <AllocatableType T>
class PinnedBuffer : public detail::HostMemory {
    static_assert(!std::is_const_v<T>,
                  "T must not be const. Use std::span<const T> for a read-only view.");

  public:
    PinnedBuffer() noexcept = default;

    // Allocates `size` elements, with CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_WRITECOMBINED as
    // the options say. cuMemHostAlloc.
    static Result<PinnedBuffer> allocate(const Context &context, std::size_t size,
                                         const PinnedOptions &options = {}) noexcept {
        return detail::named(
                   HostMemory::allocate<T>(context, size, detail::DeviceMapped::no, options),
                   "PinnedBuffer::allocate")
            .transform(own);
    }

    // Allocates a copy of the values.
    static Result<PinnedBuffer> copy_of(const Context &context, std::span<const T> values,
                                        PinnedOptions options = {}) noexcept {
        options.value_initialize = false;
        CUSHIM_TRY(PinnedBuffer buffer, detail::named(allocate(context, values.size(), options),
                                                      "PinnedBuffer::copy_of"));
        for (std::size_t index = 0; index < values.size(); ++index) {
            ::new (static_cast<void *>(buffer.data() + index)) T(values[index]);
        }
        return buffer;
    }

    // Owns memory from cuMemHostAlloc or cuMemAllocHost; on failure the caller keeps it.
    static Result<PinnedBuffer> adopt(const Context &context, T *data, std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(size, sizeof(T), "PinnedBuffer::adopt"));
        return detail::named(HostMemory::adopt(context, data, bytes, detail::DeviceMapped::no),
                             "PinnedBuffer::adopt")
            .transform(own);
    }

    // The address on the host; null if the buffer has no elements.
    T *data() const noexcept { return static_cast<T *>(native()); }
    // The number of elements.
    std::size_t size() const noexcept { return size_bytes() / sizeof(T); }
    // The size in bytes.
    using HostMemory::size_bytes;
    // Whether size() is 0.
    bool empty() const noexcept { return size() == 0; }
    // Iterators over the elements.
    T *begin() const noexcept { return data(); }
    T *end() const noexcept { return data() + size(); }

    // A view of all elements. Does not wait: the elements must not be read while enqueued work
    // writes them, nor written while such work reads them.
    std::span<T> span() const noexcept { return {data(), size()}; }

    // Waits for all work in the stream, or for the event, and returns span(). cuStreamSynchronize;
    // cuEventSynchronize.
    Result<std::span<T>> span_after(const Stream &stream) const noexcept {
        CUSHIM_TRY_VOID(detail::named(stream.synchronize(), "PinnedBuffer::span_after"));
        return span();
    }
    Result<std::span<T>> span_after(const Event &event) const noexcept {
        CUSHIM_TRY_VOID(detail::named(event.synchronize(), "PinnedBuffer::span_after"));
        return span();
    }

    // The CU_MEMHOSTALLOC_... flags: those requested, and those that the driver adds.
    // cuMemHostGetFlags.
    Result<unsigned int> flags() const noexcept {
        return detail::named(HostMemory::flags(), "PinnedBuffer::flags");
    }
    // Before the memory is released, the destructor waits for all work in this stream: see
    // DeviceBuffer::release_after().
    Result<void> release_after(const Stream &stream) const noexcept {
        return detail::named(HostMemory::release_after(stream), "PinnedBuffer::release_after");
    }

  private:
    explicit PinnedBuffer(HostMemory &&memory) noexcept
        : HostMemory(static_cast<HostMemory &&>(memory)) {}
    static PinnedBuffer own(HostMemory &&memory) noexcept {
        return PinnedBuffer(static_cast<HostMemory &&>(memory));
    }
};

template <AllocatableType T>
Text to_text(const PinnedBuffer<T> &buffer) noexcept {
    return detail::text_of("PinnedBuffer", buffer, buffer.size_bytes());
}

} // namespace cushim

#endif
