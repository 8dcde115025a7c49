/* Device memory that is owned: ordinary, and stream-ordered. */
#ifndef CUSHIM_DEVICE_BUFFER_HPP
#define CUSHIM_DEVICE_BUFFER_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/copy.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/stream.hpp>

namespace cushim {
namespace detail {

// What buffers are behind their T: `size` in bytes.
struct Memory {
    CUdeviceptr native = 0;
    std::size_t size = 0;
    bool zero_length = false; // allocated with no elements: valid, unlike an empty owner
};

class DeviceMemory : public Owner<Memory> {
  public:
    DeviceMemory() noexcept = default;
    CUSHIM_API static Result<DeviceMemory> allocate(const Context &context,
                                                    std::size_t bytes) noexcept;
    CUSHIM_API static Result<DeviceMemory> allocate_async(const Stream &stream,
                                                          std::size_t bytes) noexcept;
    CUSHIM_API static Result<DeviceMemory> adopt(const Context &context, CUdeviceptr address,
                                                 std::size_t bytes) noexcept;
    CUSHIM_API Result<void> free_async(const Stream &stream) noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;
    std::size_t size() const noexcept { return value().size; }

  private:
    using Owner::Owner;
};

} // namespace detail

/* `size()` elements of T in device memory, uninitialised, freed with their owner. An empty buffer
 * is valid, has a null address, and never reaches CUDA.
 *
 * When its owner goes, allocate()'s memory is freed at once: work that is queued and uses it must
 * be done by then, or release_after() says what to wait for. allocate_async()'s is freed in order
 * of the stream that it was allocated in: its owner may go at once, and only work in other streams
 * that uses it must be waited for there first (Stream::wait_event). A const buffer is one that
 * keeps its memory, as a const pointer is; its elements can be written.
 *
 * Threads: the rules of handle.hpp. Needs no current context and does not change it, but that the
 * streams legacy() and per_thread() are those of whatever context is current; memory that was
 * allocated in per_thread() goes on the thread where that was done, and memory of legacy() cannot go
 * while a blocking stream of its context is being captured, nor a stream's memory while that stream is
 * itself: a failure of the teardown (status 906, or 1), after which it is still there, and the capture is
 * valid. After Context::reset_primary() memory of pools is not given back. Errors: out_of_memory;
 * invalid_argument where the bytes of `size` elements are more than a size_t holds. */
template <AllocatableType T>
class DeviceBuffer {
    static_assert(!std::is_const_v<T>, "the elements of a buffer are written");

  public:
    DeviceBuffer() noexcept = default;

    // cuMemAlloc_v2, cuMemFree_v2. Since CUDA 3.2.
    static Result<DeviceBuffer> allocate(const Context &context, std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return detail::DeviceMemory::allocate(context, bytes).transform(own);
    }

    // In order of the stream, which the buffer keeps alive: work that is queued there after this
    // may use it. cuMemAllocAsync, cuMemFreeAsync; for a borrowed stream cuStreamGetCtx. Since CUDA 11.2;
    // devices with memory pools.
    static Result<DeviceBuffer> allocate_async(const Stream &stream, std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return detail::DeviceMemory::allocate_async(stream, bytes).transform(own);
    }

    // A copy of the values, which is there when the call returns. As allocate() and copy().
    static Result<DeviceBuffer> copy_of(const Context &context,
                                        std::span<const T> values) noexcept {
        CUSHIM_TRY(DeviceBuffer buffer, allocate(context, values.size()));
        CUSHIM_TRY_VOID(copy(context, buffer.span(), values));
        return buffer;
    }

    // Takes over memory of that context that cuMemAlloc gave. cuMemFree_v2.
    static Result<DeviceBuffer> adopt(const Context &context, CUdeviceptr address,
                                      std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return detail::DeviceMemory::adopt(context, address, bytes).transform(own);
    }

    explicit operator bool() const noexcept { return static_cast<bool>(memory_); }

    CUdeviceptr native() const noexcept { return memory_.native(); }
    // For kernels' parameters; host code must not read through it.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }
    std::size_t size() const noexcept { return memory_.size() / sizeof(T); }
    std::size_t size_bytes() const noexcept { return memory_.size(); }
    bool empty() const noexcept { return size() == 0; }

    // All of it, for copies and kernels; valid as long as the buffer is.
    DeviceSpan<T> span() const noexcept { return {native(), size()}; }
    operator DeviceSpan<T>() const noexcept { return span(); }
    operator DeviceSpan<const T>() const noexcept { return span(); }

    // Frees it in order of this stream instead, and is empty then, even if that failed. Of either
    // kind of memory. Where graphs keep it for their nodes it is freed with the last of them, and this is as
    // release_after() and reset(): not for legacy() and per_thread(), with which it stays the owner's.
    // cuMemFreeAsync, since CUDA 11.2.
    Result<void> free_async(const Stream &stream) noexcept { return memory_.free_async(stream); }

    /* Its owner waits for all work in this stream before it frees the memory; the stream is kept
     * alive. allocate_async()'s memory is freed in order of this stream instead. A later call names
     * another stream. Not for legacy() and per_thread(), which mean another stream wherever another
     * context is current. If the stream is being captured then, that is a failure of the teardown
     * (status 900), and the capture stays valid.
     * cuStreamSynchronize, cuStreamIsCapturing (CUDA 10.0), cuThreadExchangeStreamCaptureMode
     * (10.1); for a borrowed stream cuStreamGetCtx. */
    Result<void> release_after(const Stream &stream) const noexcept {
        return memory_.release_after(stream);
    }

    // As Owner's: handle.hpp.
    void reset() noexcept { memory_.reset(); }
    Result<void> close() noexcept { return memory_.close(); }
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
