/* Owned device memory: allocated immediately, or in stream order. */
#ifndef CUSHIM_DEVICE_BUFFER_HPP
#define CUSHIM_DEVICE_BUFFER_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/copy.hpp>
#include <cushim/detail/device_memory.hpp>
#include <cushim/device_span.hpp>
#include <cushim/stream.hpp>

namespace cushim {

/* `size()` uninitialised elements of T in device memory. A buffer with no elements is valid, has a
 * null address, and makes no CUDA call. const applies to the ownership, not to the elements, as in
 * `T *const`.
 *
 * Memory from allocate() is freed immediately on destruction. Before that, all work that uses it
 * must have completed, or its stream must have been passed to release_after().
 *
 * Memory from allocate_async() is freed in stream order, in the stream it was allocated in. The
 * buffer may be destroyed while that stream still uses it; work in other streams must be ordered
 * before the free with Stream::wait_event(). The free fails if its stream is being captured and the
 * capture began after the allocation. If the buffer is destroyed during such a capture, its memory
 * leaks, the capture stays valid, and the teardown sink receives CUDA_ERROR_INVALID_VALUE (1). If
 * the memory was allocated in Stream::legacy(), freeing it would invalidate the capture of any
 * blocking stream of the context. While one of these streams is being captured, the destructor
 * therefore does not free the memory, and the teardown sink receives
 * CUDA_ERROR_STREAM_CAPTURE_IMPLICIT (906).
 *
 * Context::reset_primary() frees memory from allocate() and adopt(). It does not free memory from
 * allocate_async(), and after the reset the destructor does not free it either: it stays allocated.
 *
 * Threads: see handle.hpp. A buffer allocated in per_thread() must be destroyed on the thread that
 * allocated it.
 * Context: see handle.hpp, except with legacy() and per_thread(), which use the current context.
 * Errors: out_of_memory; invalid_argument if the size in bytes exceeds std::size_t. */
template <AllocatableType T>
class DeviceBuffer {
    static_assert(!std::is_const_v<T>,
                  "T must not be const. Use DeviceSpan<const T> for a read-only view.");

  public:
    DeviceBuffer() noexcept = default;

    // Allocates `size` elements on the context's device. cuMemAlloc_v2, cuMemFree_v2.
    static Result<DeviceBuffer> allocate(const Context &context, std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(size, sizeof(T), "DeviceBuffer::allocate"));
        return detail::DeviceMemory::allocate(context, bytes).transform(own);
    }

    // Allocates in stream order: work enqueued in the stream after this call may use the memory.
    // The buffer keeps the stream alive. cuMemAllocAsync, cuMemFreeAsync; for a borrowed stream
    // cuStreamGetCtx. Since CUDA 11.2, on devices with memory pools.
    static Result<DeviceBuffer> allocate_async(const Stream &stream, std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(size, sizeof(T), "DeviceBuffer::allocate_async"));
        return detail::DeviceMemory::allocate_async(stream, bytes).transform(own);
    }

    // A copy of the values, complete when the call returns. Calls allocate() and copy().
    static Result<DeviceBuffer> copy_of(const Context &context,
                                        std::span<const T> values) noexcept {
        constexpr const char *here = "DeviceBuffer::copy_of";
        CUSHIM_TRY(DeviceBuffer buffer, detail::named(allocate(context, values.size()), here));
        CUSHIM_TRY_VOID(detail::named(copy(context, buffer.span(), values), here));
        return buffer;
    }

    // Owns `size` elements of memory of that context from cuMemAlloc; on failure the caller keeps
    // it. cuMemFree_v2.
    static Result<DeviceBuffer> adopt(const Context &context, CUdeviceptr address,
                                      std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(size, sizeof(T), "DeviceBuffer::adopt"));
        return detail::DeviceMemory::adopt(context, address, bytes).transform(own);
    }

    // Whether it holds memory. False for a buffer with no elements.
    explicit operator bool() const noexcept { return static_cast<bool>(memory_); }

    // The address; null if the buffer has no memory.
    CUdeviceptr native() const noexcept { return memory_.native(); }
    // The address, for kernel parameters. Host code must not dereference it.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }
    // The number of elements.
    std::size_t size() const noexcept { return memory_.size() / sizeof(T); }
    // The size in bytes.
    std::size_t size_bytes() const noexcept { return memory_.size(); }
    // Whether size() is 0.
    bool empty() const noexcept { return size() == 0; }

    // A view of the whole buffer, for copies and kernels; valid as long as the buffer.
    DeviceSpan<T> span() const noexcept { return {native(), size()}; }
    operator DeviceSpan<T>() const noexcept { return span(); }
    operator DeviceSpan<const T>() const noexcept { return span(); }

    // Frees the memory in the order of this stream. If graph nodes use the memory, it calls
    // release_after(stream) and close() instead: the memory is freed after the last such graph is
    // destroyed, and legacy() and per_thread() are rejected. If `stream` holds no stream, or
    // release_after() fails, the buffer is unchanged. In all other cases it holds no memory
    // afterwards, even if the call fails. cuMemFreeAsync, since CUDA 11.2.
    Result<void> free_async(const Stream &stream) noexcept { return memory_.free_async(stream); }

    /* Memory from allocate() or adopt(): the destructor waits for all work in `stream`, then frees
     * it. Memory from allocate_async(): it is freed in the order of `stream`. The buffer keeps
     * `stream` alive. A later call replaces the stream. Rejects legacy() and per_thread(), which
     * refer to different streams in different contexts. If `stream` is being captured when the
     * buffer is destroyed, the capture stays valid. Memory from allocate() or adopt() is then
     * freed without waiting, and the teardown sink receives CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
     * (900). Memory from allocate_async() may leak, as described above. cuStreamSynchronize,
     * cuStreamIsCapturing, cuThreadExchangeStreamCaptureMode; for a borrowed stream
     * cuStreamGetCtx. */
    Result<void> release_after(const Stream &stream) const noexcept {
        return memory_.release_after(stream);
    }

    // Free the memory, or give it up, as the functions of the same names in handle.hpp do.
    void reset() noexcept { memory_.reset(); }
    Result<void> close() noexcept { return detail::named(memory_.close(), "DeviceBuffer::close"); }
    [[nodiscard]] CUdeviceptr release() noexcept { return memory_.release(); }

  private:
    friend struct detail::Access;
    explicit DeviceBuffer(detail::DeviceMemory &&memory) noexcept
        : memory_(static_cast<detail::DeviceMemory &&>(memory)) {}
    static DeviceBuffer own(detail::DeviceMemory &&memory) noexcept {
        return DeviceBuffer(static_cast<detail::DeviceMemory &&>(memory));
    }

    detail::DeviceMemory memory_;
};

template <AllocatableType T>
Text to_text(const DeviceBuffer<T> &buffer) noexcept {
    return detail::text_of("DeviceBuffer", buffer, buffer.size_bytes());
}

} // namespace cushim

#endif
