/* Owned device memory: allocated immediately, or in stream order. */
#ifndef CUSHIM_DEVICE_BUFFER_HPP
#define CUSHIM_DEVICE_BUFFER_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/copy.hpp>
#include <cushim/stream.hpp>
#include <cushim/typed_buffer.hpp>

namespace cushim {

namespace detail {

// Memory without its element type.
struct DeviceBlock {
    CUdeviceptr native = 0;
    std::size_t size = 0;     // bytes
    bool zero_length = false; // allocated with no elements: valid, unlike an empty owner
};

class DeviceMemory : public Owner<DeviceBlock> {
  public:
    static constexpr BufferKind kind{.names = {"DeviceBuffer", "DeviceBuffer::close",
                                               "DeviceBuffer::release_after",
                                               "DeviceBuffer::to_vector"}};

    DeviceMemory() noexcept = default;
    CUSHIM_API static Result<DeviceMemory> allocate(const Context &context, std::size_t count,
                                                    std::size_t element_size) noexcept;
    CUSHIM_API static Result<DeviceMemory> allocate_async(const Stream &stream, std::size_t count,
                                                          std::size_t element_size) noexcept;
    CUSHIM_API static Result<DeviceMemory> adopt(const Context &context, CUdeviceptr address,
                                                 std::size_t count,
                                                 std::size_t element_size) noexcept;
    CUSHIM_API Result<void> free_async(const Stream &stream) noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

    std::size_t size_bytes() const noexcept { return value().size; }
    template <class T>
    DeviceSpan<T> span() const noexcept {
        return {native(), size_bytes() / sizeof(T)};
    }

  protected:
    using Owner::Owner;
};

} // namespace detail

/* `size()` uninitialised elements of T in device memory. Its span, its address, and how it is
 * freed: typed_buffer.hpp.
 *
 *     CUSHIM_TRY(auto buffer, cushim::DeviceBuffer<float>::allocate(context, 1000));
 *
 * Memory from allocate_async() is freed in stream order, in the stream it was allocated in. The
 * buffer may be destroyed while that stream still uses it; work in other streams must be ordered
 * before the free with Stream::wait_event().
 *
 * Threads: see handle.hpp. A buffer allocated in per_thread() must be destroyed on the thread that
 * allocated it.
 * Context: see handle.hpp, except with legacy() and per_thread(), which use the current context.
 *
 * | what happens if                   |                                                         |
 * |-----------------------------------|---------------------------------------------------------|
 * | the primary context is reset      | Memory from allocate() and adopt() is freed. Memory     |
 * |                                   | from allocate_async() is not, and after the reset the   |
 * |                                   | destructor does not free it either.                     |
 * | the stream of allocate_async() is | The free fails if the capture began after the           |
 * | being captured                    | allocation. On destruction, the memory then leaks, the  |
 * |                                   | capture stays valid, and the teardown sink receives     |
 * |                                   | CUDA_ERROR_INVALID_VALUE (1).                           |
 * | that stream is Stream::legacy()   | Freeing would invalidate the capture of any blocking    |
 * |                                   | stream of the context. While one is captured, the       |
 * |                                   | destructor does not free the memory, and the teardown   |
 * |                                   | sink receives CUDA_ERROR_STREAM_CAPTURE_IMPLICIT (906). |
 */
template <AllocatableType T>
class DeviceBuffer : public TypedBuffer<T, detail::DeviceMemory> {
    using Memory = detail::DeviceMemory;
    using Base = TypedBuffer<T, Memory>;

  public:
    using Base::Base;

    // Allocates `size` elements on the context's device. cuMemAlloc_v2, cuMemFree_v2.
    static Result<DeviceBuffer> allocate(const Context &context, std::size_t size) noexcept {
        return Memory::allocate(context, size, sizeof(T));
    }

    // Allocates in stream order: work enqueued in the stream after this call may use the memory.
    // The buffer keeps the stream alive. cuMemAllocAsync, cuMemFreeAsync; for a borrowed stream
    // cuStreamGetCtx. Since CUDA 11.2, on devices with memory pools.
    static Result<DeviceBuffer> allocate_async(const Stream &stream, std::size_t size) noexcept {
        return Memory::allocate_async(stream, size, sizeof(T));
    }

    // The same with all bytes 0: at once, or enqueued in the stream. They call allocate() or
    // allocate_async(), then cuMemsetD8Async, and the former cuStreamSynchronize.
    static Result<DeviceBuffer> allocate_zeroed(const Context &context, std::size_t size) noexcept {
        return zeroed("DeviceBuffer::allocate_zeroed", context, allocate(context, size));
    }
    static Result<DeviceBuffer> allocate_zeroed_async(const Stream &stream,
                                                      std::size_t size) noexcept {
        return zeroed("DeviceBuffer::allocate_zeroed_async", stream, allocate_async(stream, size));
    }

    // A copy of the values, complete when the call returns. Calls allocate() and copy().
    static Result<DeviceBuffer> copy_of(const Context &context,
                                        std::span<const T> values) noexcept {
        return detail::named("DeviceBuffer::copy_of", [&]() -> Result<DeviceBuffer> {
            CUSHIM_DETAIL_TRY(cushim_tried, DeviceBuffer buffer, allocate(context, values.size()));
            CUSHIM_DETAIL_TRY_VOID(cushim_done, copy(context, buffer, values));
            return buffer;
        });
    }

    // Owns `size` elements of memory of that context from cuMemAlloc; on failure the caller keeps
    // it. An address that is not null is owned even if the size is 0; a null address is valid only
    // with size 0. cuMemFree_v2.
    static Result<DeviceBuffer> adopt(const Context &context, CUdeviceptr address,
                                      std::size_t size) noexcept {
        return Memory::adopt(context, address, size, sizeof(T));
    }

    // Frees the memory in the order of this stream. If graph nodes use the memory, it calls
    // release_after(stream) and close() instead: the memory is freed after the last such graph is
    // destroyed, and legacy() and per_thread() are rejected. If `stream` is empty, or
    // release_after() fails, the buffer is unchanged. In all other cases it holds no memory
    // afterwards, even if the call fails. cuMemFreeAsync, since CUDA 11.2.
    Result<void> free_async(const Stream &stream) noexcept {
        return this->memory().free_async(stream);
    }

  private:
    template <class Way>
    static Result<DeviceBuffer> zeroed(const char *function, const Way &way,
                                       Result<DeviceBuffer> &&allocated) noexcept {
        return detail::named(function, [&]() -> Result<DeviceBuffer> {
            CUSHIM_DETAIL_TRY(cushim_tried, DeviceBuffer buffer,
                              static_cast<Result<DeviceBuffer> &&>(allocated));
            const detail::Fill zeros = {buffer.native(), buffer.size_bytes(), 1, 0};
            CUSHIM_DETAIL_TRY_VOID(cushim_done, detail::fill(way, zeros));
            return buffer;
        });
    }
};

} // namespace cushim

#endif
