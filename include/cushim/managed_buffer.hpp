/* Owned managed memory: it has one address for the host and all devices, and the driver moves it to
 * where it is used. */
#ifndef CUSHIM_MANAGED_BUFFER_HPP
#define CUSHIM_MANAGED_BUFFER_HPP

#include <cushim/context.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/stream.hpp>
#include <cushim/typed_buffer.hpp>

namespace cushim {

// Which streams can access managed memory, and whether the host can, on devices that cannot use it
// concurrently with the host (CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS is 0). The values are
// CU_MEM_ATTACH_...
enum class ManagedAttachment : unsigned int {
    global = 1, // all streams; the host only while no device works
    host = 2,   // the host, and no stream
    single = 4, // one stream; the host only while that stream has no work
};
CUSHIM_API Text to_text(ManagedAttachment attachment) noexcept;

// A location of managed memory: a device or the host. A Device converts to it.
class ManagedLocation {
  public:
    // A device, or the host.
    constexpr ManagedLocation(Device device) noexcept : native_(device.native()) {}
    static constexpr ManagedLocation host() noexcept { return {}; }

    // The CUdevice; CU_DEVICE_CPU for the host.
    constexpr CUdevice native() const noexcept { return native_; }

  private:
    constexpr ManagedLocation() noexcept = default;

    CUdevice native_ = CU_DEVICE_CPU;
};

// How ManagedBuffer allocates.
struct ManagedBufferOptions {
    ManagedAttachment attachment = ManagedAttachment::global; // global or host
};

namespace detail {

// In bytes.
struct ManagedPart {
    std::size_t offset;
    std::size_t size;
};

class ManagedMemory : public DeviceMemory {
  public:
    static constexpr BufferKind kind{
        .names = {"ManagedBuffer", "ManagedBuffer::close", "ManagedBuffer::release_after",
                  "ManagedBuffer::to_vector", "ManagedBuffer::synchronized_span"},
        .on_host = true};

    ManagedMemory() noexcept = default;
    ManagedMemory(DeviceMemory &&adopted) noexcept
        : DeviceMemory(static_cast<DeviceMemory &&>(adopted)) {}
    CUSHIM_API static Result<ManagedMemory> allocate(const Context &context, std::size_t count,
                                                     std::size_t element_size,
                                                     const ManagedBufferOptions &options) noexcept;
    CUSHIM_API Result<void> advise(CUmem_advise advice, ManagedLocation location,
                                   const ManagedPart &part) const noexcept;
    CUSHIM_API Result<void> prefetch(const Stream &stream, ManagedLocation location,
                                     const ManagedPart &part) const noexcept;
    CUSHIM_API Result<void> attach(const Stream &stream,
                                   ManagedAttachment attachment) const noexcept;

    CUdeviceptr device_address() const noexcept { return native(); }
    template <class T>
    std::span<T> span() const noexcept {
        return {pointer_to<T>(native()), size_bytes() / sizeof(T)};
    }

  private:
    using DeviceMemory::DeviceMemory;
};

} // namespace detail

/* `size()` uninitialised elements of T in managed memory: span() is for the host, device_span() for
 * kernels and fills. See typed_buffer.hpp.
 *
 * The host must not use the elements while a device may write them, or while the attachment forbids
 * it.
 *
 * Errors: out_of_memory (a size above the memory of the device is allowed if the driver can move
 * pages to the host); not_supported_by_device; invalid_argument for parts that exceed the
 * buffer. */
template <AllocatableType T>
class ManagedBuffer : public TypedBuffer<T, detail::ManagedMemory> {
    using Memory = detail::ManagedMemory;
    using Base = TypedBuffer<T, Memory>;

  public:
    using Base::Base;

    // Allocates `size` elements. cuMemAllocManaged, cuMemFree_v2.
    static Result<ManagedBuffer> allocate(const Context &context, std::size_t size,
                                          const ManagedBufferOptions &options = {}) noexcept {
        return Memory::allocate(context, size, sizeof(T), options);
    }

    // Owns `size` elements in memory from cuMemAllocManaged; on failure the caller keeps it.
    // cuMemFree_v2.
    static Result<ManagedBuffer> adopt(const Context &context, CUdeviceptr address,
                                       std::size_t size) noexcept {
        return detail::named("ManagedBuffer::adopt",
                             Memory::adopt(context, address, size, sizeof(T)));
    }

    /* Advises the driver about the use of the memory (CU_MEM_ADVISE_...): the whole buffer, or
     * `count` elements starting at element `offset`; CUDA rounds to pages. Without elements, no
     * CUDA call is made. CUDA ignores the location for CU_MEM_ADVISE_SET_READ_MOSTLY,
     * CU_MEM_ADVISE_UNSET_READ_MOSTLY and CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION. cuMemAdvise. */
    Result<void> advise(CUmem_advise advice, ManagedLocation location) const noexcept {
        return this->memory().advise(advice, location, {0, this->size_bytes()});
    }
    Result<void> advise(CUmem_advise advice, ManagedLocation location, std::size_t offset,
                        std::size_t count) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const auto part,
                          part_of(offset, count, "ManagedBuffer::advise"));
        return this->memory().advise(advice, location, part);
    }

    // Enqueues a move of the whole buffer, or of `count` elements starting at element `offset`, to
    // the location. cuMemPrefetchAsync.
    Result<void> prefetch(const Stream &stream, ManagedLocation location) const noexcept {
        return this->memory().prefetch(stream, location, {0, this->size_bytes()});
    }
    Result<void> prefetch(const Stream &stream, ManagedLocation location, std::size_t offset,
                          std::size_t count) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const auto part,
                          part_of(offset, count, "ManagedBuffer::prefetch"));
        return this->memory().prefetch(stream, location, part);
    }

    // Attaches the whole allocation as `attachment` says, once the stream reaches this point. With
    // `single`, the stream must not be legacy() or per_thread(); when the stream is destroyed, the
    // original attachment applies again. cuStreamAttachMemAsync.
    Result<void> attach(const Stream &stream, ManagedAttachment attachment) const noexcept {
        return this->memory().attach(stream, attachment);
    }

  private:
    Result<detail::ManagedPart> part_of(std::size_t offset, std::size_t count,
                                        const char *function) const noexcept {
        CUSHIM_DETAIL_TRY_VOID(
            cushim_done, detail::check_range(offset, count, this->size(), "elements", function));
        return detail::ManagedPart{offset * sizeof(T), count * sizeof(T)};
    }
};

} // namespace cushim

#endif
