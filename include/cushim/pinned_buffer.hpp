/* Owned pinned host memory: copies between it and devices are fastest, and asynchronous. */
#ifndef CUSHIM_PINNED_BUFFER_HPP
#define CUSHIM_PINNED_BUFFER_HPP

#include <new>
#include <span>

#include <cushim/context.hpp>
#include <cushim/detail/host_memory.hpp>
#include <cushim/typed_buffer.hpp>

namespace cushim {

// How PinnedBuffer and HostMappedBuffer allocate.
struct PinnedBufferOptions {
    // Pinned for the devices of all contexts. Always the case if host and devices share one address
    // space, as on all 64-bit systems.
    bool portable = false;
    // Fast for devices to read, slow for the host to read: for memory that the host only writes.
    bool write_combined = false;
    // Initialises every element to T(). invalid_argument if T has no default constructor; the
    // constructor must not throw (std::terminate). If false, the elements are uninitialised.
    bool value_initialize = true;
};

namespace detail {

// `size` elements of T. Errors name no function.
template <class T>
Result<HostMemory> host_memory_of(const Context &context, std::size_t size, DeviceMapped mapped,
                                  const PinnedBufferOptions &options) noexcept {
    if (options.value_initialize && !std::is_default_constructible_v<T>) {
        return Error::invalid_argument("value_initialize is set but the elements have no default "
                                       "constructor; set it to false");
    }
    CUSHIM_DETAIL_TRY(cushim_tried, HostMemory memory,
                      HostMemory::allocate(context, size, sizeof(T), mapped, options));
    if constexpr (std::is_default_constructible_v<T>) {
        if (options.value_initialize) {
            for (T &element : memory.span<T>()) {
                ::new (static_cast<void *>(&element)) T();
            }
        }
    }
    return memory;
}

} // namespace detail

/* `size()` elements of T in pinned host memory: a contiguous range, as std::vector is. See
 * typed_buffer.hpp. Pinned memory is never moved or paged out, so that devices copy from and to it
 * directly.
 *
 *     CUSHIM_TRY(auto pinned, PinnedBuffer<float>::allocate(context, 1000));
 *     CUSHIM_TRY_VOID(cushim::copy(stream, pinned, buffer));          returns at once
 *     CUSHIM_TRY(auto values, pinned.synchronized_span(stream));      waits
 *
 * Kernels use HostMappedBuffer instead. */
template <AllocatableType T>
class PinnedBuffer : public TypedBuffer<T, detail::PinnedMemory> {
    using Memory = detail::PinnedMemory;
    using Base = TypedBuffer<T, Memory>;

  public:
    using Base::Base;

    // Allocates `size` elements, with CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_WRITECOMBINED as
    // the options say. cuMemHostAlloc, cuMemFreeHost.
    static Result<PinnedBuffer> allocate(const Context &context, std::size_t size,
                                         const PinnedBufferOptions &options = {}) noexcept {
        return detail::named(
            "PinnedBuffer::allocate",
            detail::host_memory_of<T>(context, size, detail::DeviceMapped::no, options));
    }

    // Allocates a copy of the values, as allocate() does. Ignores options.value_initialize.
    static Result<PinnedBuffer> copy_of(const Context &context, std::span<const T> values,
                                        PinnedBufferOptions options = {}) noexcept {
        options.value_initialize = false;
        CUSHIM_DETAIL_TRY(
            cushim_tried, PinnedBuffer buffer,
            detail::named("PinnedBuffer::copy_of", allocate(context, values.size(), options)));
        for (std::size_t index = 0; index < values.size(); ++index) {
            ::new (static_cast<void *>(buffer.data() + index)) T(values[index]);
        }
        return buffer;
    }

    // Owns `size` elements in memory from cuMemHostAlloc or cuMemAllocHost; on failure the caller
    // keeps it. cuMemFreeHost.
    static Result<PinnedBuffer> adopt(const Context &context, T *data, std::size_t size) noexcept {
        return detail::named("PinnedBuffer::adopt", Memory::adopt(context, data, size, sizeof(T),
                                                                  detail::DeviceMapped::no));
    }

    // The CU_MEMHOSTALLOC_... flags: those requested, and those that the driver adds.
    // cuMemHostGetFlags.
    Result<unsigned int> flags() const noexcept {
        return detail::named("PinnedBuffer::flags", this->memory().flags());
    }
};

} // namespace cushim

#endif
