/* Owned zero-copy memory: host memory that is mapped into the address space of devices. */
#ifndef CUSHIM_HOST_MAPPED_BUFFER_HPP
#define CUSHIM_HOST_MAPPED_BUFFER_HPP

#include <cushim/context.hpp>
#include <cushim/detail/host_memory.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/typed_buffer.hpp>

namespace cushim {

/* `size()` elements of T in host memory that kernels access in place, over the bus. See
 * typed_buffer.hpp.
 *
 *     CUSHIM_TRY(auto values, HostMappedBuffer<float>::allocate(context, 1000));
 *     values.span()[0] = 1;
 *     ... a kernel in `stream` works on values.device_data() ...
 *     CUSHIM_TRY(auto results, values.synchronized_span(stream));
 *
 * Host and device may have different addresses for the memory: each must use its own. */
template <AllocatableType T>
class HostMappedBuffer : public TypedBuffer<T, detail::MappedMemory> {
    using Memory = detail::MappedMemory;
    using Base = TypedBuffer<T, Memory>;

  public:
    using Base::Base;

    // Allocates `size` elements, with CU_MEMHOSTALLOC_DEVICEMAP, and with CU_MEMHOSTALLOC_PORTABLE
    // and CU_MEMHOSTALLOC_WRITECOMBINED as the options say. cuMemHostAlloc,
    // cuMemHostGetDevicePointer_v2, cuMemFreeHost.
    static Result<HostMappedBuffer> allocate(const Context &context, std::size_t size,
                                             const PinnedBufferOptions &options = {}) noexcept {
        return detail::named(
            "HostMappedBuffer::allocate",
            detail::host_memory_of<T>(context, size, detail::DeviceMapped::yes, options));
    }

    // Owns `size` elements in memory from cuMemHostAlloc; on failure the caller keeps it.
    // cuMemHostGetDevicePointer_v2, cuMemFreeHost.
    static Result<HostMappedBuffer> adopt(const Context &context, T *data,
                                          std::size_t size) noexcept {
        return detail::named(
            "HostMappedBuffer::adopt",
            Memory::adopt(context, data, size, sizeof(T), detail::DeviceMapped::yes));
    }

    // See PinnedBuffer::flags.
    Result<unsigned int> flags() const noexcept {
        return detail::named("HostMappedBuffer::flags", this->memory().flags());
    }
};

} // namespace cushim

#endif
