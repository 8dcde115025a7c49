/* What all buffers have in common: DeviceBuffer, PoolBuffer, GrowableBuffer, PitchedBuffer,
 * PinnedBuffer, HostMappedBuffer, ManagedBuffer, and HostRegistration. */
#ifndef CUSHIM_TYPED_BUFFER_HPP
#define CUSHIM_TYPED_BUFFER_HPP

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include <cushim/detail/typed_buffer.hpp>
#include <cushim/device_span.hpp>
#include <cushim/stream.hpp>

namespace cushim {

/* Owns memory for `size()` elements of T; a HostRegistration only pins memory of the caller. A
 * const buffer gives read-only views: its elements do not change.
 *
 *     auto buffer = cushim::DeviceBuffer<float>::allocate(context, 1000).value();
 *     cushim::fill(buffer, 1.0F);                              copy.hpp
 *     std::vector<float> values = buffer.to_vector().value();
 *
 * A buffer that is allocated with no elements is valid, has a null address, and makes no CUDA call.
 * A moved-from buffer is empty.
 *
 * Errors: out_of_memory; invalid_argument if the size in bytes exceeds std::size_t. */
template <class T, class Memory>
class TypedBuffer {
    static_assert(!std::is_const_v<T> || Memory::kind.is_lent,
                  "T must not be const. Use a span of const T for a read-only view.");

  public:
    using element_type = T; // the type of an element

    // An empty buffer.
    TypedBuffer() noexcept = default;
    // Owns memory that a derived class has allocated; not for programs.
    TypedBuffer(std::convertible_to<Memory> auto &&memory) noexcept
        : memory_(static_cast<decltype(memory) &&>(memory)) {}

    // Whether it holds memory. False for a buffer that was allocated with no elements. A
    // GrowableBuffer: whether it was created.
    explicit operator bool() const noexcept { return static_cast<bool>(memory_); }

    // The address as CUDA's functions take it; null if the buffer has no memory.
    auto native() const noexcept { return memory_.native(); }
    // The address. Host code must not dereference that of device memory.
    T *data() & noexcept { return detail::pointer_to<T>(native()); }
    // The address, of elements that do not change.
    const T *data() const & noexcept { return detail::pointer_to<const T>(native()); }
    // A temporary frees the elements.
    void data() && = delete;
    // The number of elements. A PitchedBuffer has extent() instead.
    std::size_t size() const noexcept
        requires(!Memory::kind.has_rows)
    {
        return size_bytes() / sizeof(T);
    }
    // The size in bytes; with rows, including the bytes between them.
    std::size_t size_bytes() const noexcept { return memory_.size_bytes(); }
    // Whether size_bytes() is 0.
    bool empty() const noexcept { return size_bytes() == 0; }

    /* A view of all elements, valid as long as the buffer: a DeviceSpan or DevicePitchedSpan of
     * device memory, a std::span of memory that the host can use. Does not wait: the host must not
     * read elements that enqueued work writes, nor write elements that it reads. */
    auto span() & noexcept { return memory_.template span<T>(); }
    // A read-only view of all elements.
    auto span() const & noexcept { return memory_.template span<const T>(); }
    void span() && = delete;

    // A buffer of device memory converts to its span.
    operator detail::SpanOf<Memory, T>() noexcept
        requires(!Memory::kind.on_host)
    {
        return span();
    }
    // A const buffer of device memory converts to a read-only span.
    operator detail::SpanOf<Memory, const T>() const noexcept
        requires(!Memory::kind.on_host)
    {
        return span();
    }

    // The first element, which the host can use.
    T *begin() noexcept
        requires(Memory::kind.on_host)
    {
        return data();
    }
    // The end of the elements.
    T *end() noexcept
        requires(Memory::kind.on_host)
    {
        return data() + size();
    }
    // The first element, for reading.
    const T *begin() const noexcept
        requires(Memory::kind.on_host)
    {
        return data();
    }
    // The end of the elements, for reading.
    const T *end() const noexcept
        requires(Memory::kind.on_host)
    {
        return data() + size();
    }

    // Waits for all work in a Stream, or for an Event, and returns span(). The work that is awaited
    // must include all work that uses the elements. cuStreamSynchronize; cuEventSynchronize.
    template <class Work>
    Result<std::span<T>> synchronized_span(const Work &work) & noexcept
        requires(Memory::kind.on_host)
    {
        CUSHIM_DETAIL_TRY_VOID(
            cushim_done, detail::named(Memory::kind.names.synchronized_span, work.synchronize()));
        return span();
    }
    // Waits, and returns a read-only view.
    template <class Work>
    Result<std::span<const T>> synchronized_span(const Work &work) const & noexcept
        requires(Memory::kind.on_host)
    {
        CUSHIM_DETAIL_TRY_VOID(
            cushim_done, detail::named(Memory::kind.names.synchronized_span, work.synchronize()));
        return span();
    }
    template <class Work>
    void synchronized_span(const Work &work) && = delete;

    // The address on devices of memory that host and devices use, for kernel parameters; null if a
    // HostRegistration is not mapped. It may differ from data().
    T *device_data() noexcept
        requires(Memory::kind.on_host && Memory::kind.on_device)
    {
        return detail::pointer_to<T>(memory_.device_address());
    }
    // The address on devices, of elements that do not change.
    const T *device_data() const noexcept
        requires(Memory::kind.on_host && Memory::kind.on_device)
    {
        return detail::pointer_to<const T>(memory_.device_address());
    }
    // The view for kernels and fills; of size 0 if a HostRegistration is not mapped.
    DeviceSpan<T> device_span() & noexcept
        requires(Memory::kind.on_host && Memory::kind.on_device)
    {
        return {memory_.device_address(), memory_.device_address() != 0 ? size() : 0};
    }
    // The read-only view for kernels and copies.
    DeviceSpan<const T> device_span() const & noexcept
        requires(Memory::kind.on_host && Memory::kind.on_device)
    {
        return {memory_.device_address(), memory_.device_address() != 0 ? size() : 0};
    }
    void device_span() && = delete;

    // A copy of the elements. Device memory is copied by copy(values, buffer), which waits for the
    // copy. Memory that the host can use is read by the host, without waiting for enqueued work.
    Result<std::vector<std::remove_const_t<T>>> to_vector() const noexcept
        requires(!Memory::kind.has_rows && std::is_default_constructible_v<T> &&
                 !std::is_same_v<std::remove_const_t<T>, bool>)
    {
        using Values = std::vector<std::remove_const_t<T>>;
        CUSHIM_DETAIL_TRY(cushim_tried, Values values,
                          detail::named(Memory::kind.names.to_vector,
                                        detail::vector_of<std::remove_const_t<T>>(size())));
        if constexpr (Memory::kind.on_host) {
            std::size_t index = 0;
            for (const T &element : span()) {
                values[index++] = element;
            }
        } else {
            CUSHIM_DETAIL_TRY_VOID(
                cushim_done,
                detail::named(Memory::kind.names.to_vector,
                              detail::copy(detail::Buffers{nullptr, detail::Access::state(*this)},
                                           detail::copy_between(std::span(values), span()))));
        }
        return values;
    }

    // The destructor waits for all work in `stream`, then frees the memory; memory that was
    // allocated in stream order is freed in the order of `stream`, without waiting. The buffer
    // keeps `stream` alive. A later call replaces the stream. cuStreamSynchronize,
    // cuStreamIsCapturing, cuThreadExchangeStreamCaptureMode; for a borrowed stream cuStreamGetCtx.
    Result<void> release_after(const Stream &stream) const noexcept {
        return detail::named(Memory::kind.names.release_after, memory_.release_after(stream));
    }

    // Frees the memory (a HostRegistration: unpins it), and reports a failure to the teardown sink,
    // as reset() in handle.hpp.
    void reset() noexcept { memory_.reset(); }
    // Frees the memory, and returns a failure.
    Result<void> close() noexcept {
        return detail::named(Memory::kind.names.close, memory_.close());
    }
    // Gives up the memory: the caller must free it. Not possible with a GrowableBuffer.
    [[nodiscard]] auto release() noexcept
        requires(!Memory::kind.is_growable)
    {
        return memory_.release();
    }

  protected:
    // The memory, for the derived class.
    Memory &memory() noexcept { return memory_; }
    // The memory of a const buffer.
    const Memory &memory() const noexcept { return memory_; }

  private:
    friend struct detail::Access;

    Memory memory_;
};

template <class T, class Memory>
Text to_text(const TypedBuffer<T, Memory> &buffer) noexcept {
    return detail::text_of(Memory::kind.names.type, buffer, buffer.size_bytes());
}

namespace detail {

template <class T, class Memory>
void take_buffer(const TypedBuffer<T, Memory> &buffer) noexcept; // nvcc rejects a lambda here
template <class Object>
concept Buffer = requires(const Object &object) { take_buffer(object); };

// The state of a buffer; null for other memory, and for a buffer without memory.
template <class Object>
const State *buffer_state([[maybe_unused]] const Object &object) noexcept {
    if constexpr (Buffer<Object>) {
        return Access::state(object);
    } else {
        return nullptr;
    }
}

} // namespace detail
} // namespace cushim

/* release_after(), also that of other owners of memory:
 *
 * | what happens if                      |                                                        |
 * |--------------------------------------|--------------------------------------------------------|
 * | `stream` is legacy() or per_thread() | The call fails with invalid_argument: they are         |
 * |                                      | different streams in different contexts.               |
 * | `stream` is being captured when the  | The capture stays valid: the memory is freed, unmapped |
 * | last owner is destroyed              | or closed without waiting, and the teardown sink       |
 * |                                      | receives CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900).  |
 */

#endif
