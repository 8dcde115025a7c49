/* Device memory that grows up to a reserved capacity without moving. */
#ifndef CUSHIM_GROWABLE_BUFFER_HPP
#define CUSHIM_GROWABLE_BUFFER_HPP

#include <cushim/detail/growable_memory.hpp>
#include <cushim/virtual_memory.hpp>

namespace cushim {

// How a GrowableBuffer grows, and who can access it.
struct GrowableBufferOptions {
    // How the memory is created. The object behind win32_attributes must outlive the last growth.
    PhysicalMemoryOptions memory;
    // The unit of growth in bytes: each growth is rounded up to a multiple of it, within the
    // capacity. It is itself rounded up to a multiple of the recommended granularity; 0: that
    // granularity. Each growth makes several CUDA calls, tens of microseconds in total.
    std::size_t step = 0;
    // The access to the memory; copied. Empty: the device itself, for reading and writing. If CUDA
    // rejects it, the first growth fails.
    std::span<const AccessGrant> access;
};

/* `size()` elements of T in device memory, at an address that stays while the buffer grows up to
 * `capacity()`. Addresses are reserved in advance, without memory; memory is mapped when it is
 * needed. Elements are never copied; new ones are uninitialised.
 *
 *     auto buffer = GrowableBuffer<float>::create(device, std::size_t(1) << 36);
 *     buffer->resize(1'000'000);
 *     ...                            kernels write to buffer->data()
 *     buffer->resize(2'000'000);     the same data(), the same million elements
 *
 * The memory consists of pieces, one for each growth. To export a piece, call
 * PhysicalMemory::retain_from() with an address in it.
 *
 * Growing does not wait: earlier work may still use the elements. shrink_to_fit(), reserve() beyond
 * the capacity, and destruction unmap memory, and wait only for a stream that was passed to
 * release_after(). All other work that uses the mapping must have completed before.
 *
 * Threads and context: see handle.hpp.
 * Errors: see virtual_memory.hpp. A function that fails leaves the buffer unchanged, except
 * shrink_to_fit() and close().
 * Calls the entry points of AddressRange, PhysicalMemory and MappedRange. */
template <AllocatableType T>
class GrowableBuffer {
    static_assert(!std::is_const_v<T>,
                  "T must not be const. Use DeviceSpan<const T> for a read-only view.");

  public:
    GrowableBuffer() noexcept = default;

    // A buffer of size 0 with room for at least `capacity` elements. A large capacity is cheap: it
    // reserves addresses, of which there are many terabytes. 0: call reserve() later.
    static Result<GrowableBuffer> create(Device device, std::size_t capacity,
                                         const GrowableBufferOptions &options = {}) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(capacity, sizeof(T), "GrowableBuffer::create"));
        CUSHIM_TRY(auto memory, detail::GrowableMemory::create(device, bytes, options));
        return GrowableBuffer(static_cast<detail::GrowableMemory &&>(memory));
    }

    // Whether the buffer was created; true also for a capacity of 0, before reserve().
    explicit operator bool() const noexcept { return static_cast<bool>(memory_); }

    // The address; 0 if no addresses are reserved.
    CUdeviceptr native() const noexcept { return memory_.native(); }
    // The address, for kernel parameters. Host code must not dereference it.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }
    // The number of elements.
    std::size_t size() const noexcept { return memory_.size() / sizeof(T); }
    // The size in bytes.
    std::size_t size_bytes() const noexcept { return memory_.size(); }
    // Whether size() is 0.
    bool empty() const noexcept { return size() == 0; }
    // The maximum number of elements at this address.
    std::size_t capacity() const noexcept { return memory_.capacity() / sizeof(T); }
    // The size of the physical memory that is mapped, in bytes; at least size_bytes().
    std::size_t mapped_bytes() const noexcept { return memory_.mapped(); }

    // A view of all elements. Earlier views stay valid while the buffer grows in place.
    DeviceSpan<T> span() const noexcept { return {native(), size()}; }
    operator DeviceSpan<T>() const noexcept { return span(); }
    operator DeviceSpan<const T>() const noexcept { return span(); }

    // Changes the number of elements. Maps memory if necessary, and frees none. More than
    // capacity() elements: invalid_argument; see reserve().
    Result<void> resize(std::size_t size) noexcept { return memory_.resize(size, sizeof(T)); }

    // Makes room for at least `capacity` elements. If that exceeds capacity(), the same memory with
    // its content moves to another address, and the old address becomes invalid.
    Result<void> reserve(std::size_t capacity) noexcept {
        CUSHIM_TRY(const std::size_t bytes,
                   detail::bytes_of(capacity, sizeof(T), "GrowableBuffer::reserve"));
        return memory_.reserve(bytes);
    }

    // Frees the pieces that contain no element. Returns the first failure, after trying all pieces.
    Result<void> shrink_to_fit() noexcept { return memory_.shrink_to_fit(); }

    // Changes the access to the present and future memory. Devices that are not named keep theirs.
    // If CUDA rejects the access, the call fails and changes nothing.
    Result<void> set_access(std::span<const AccessGrant> grants) noexcept {
        return memory_.set_access(grants);
    }
    Result<void> set_access(const AccessGrant &grant) noexcept {
        return memory_.set_one_access(grant);
    }
    // The access of a device: that of the options or of the last set_access(); AccessFlags::none
    // for other devices. The buffer's own device has read_write if options.access was empty.
    Result<AccessFlags> get_access(Device device) const noexcept {
        return memory_.get_access(device);
    }

    // Applies MappedRange::release_after() to the present and future memory.
    Result<void> release_after(const Stream &stream) noexcept {
        return memory_.release_after(stream);
    }

    // Free the memory and the addresses, as the functions of the same names in handle.hpp do.
    void reset() noexcept { memory_.reset(); }
    Result<void> close() noexcept {
        return detail::named(memory_.close(), "GrowableBuffer::close");
    }

  private:
    friend struct detail::Access;
    explicit GrowableBuffer(detail::GrowableMemory &&memory) noexcept
        : memory_(static_cast<detail::GrowableMemory &&>(memory)) {}

    detail::GrowableMemory memory_;
};

template <AllocatableType T>
Text to_text(const GrowableBuffer<T> &buffer) noexcept {
    return detail::text_of("GrowableBuffer", buffer, buffer.size_bytes());
}

} // namespace cushim

#endif
