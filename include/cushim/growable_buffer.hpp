/* Device memory that grows up to a reserved capacity without moving. */
#ifndef CUSHIM_GROWABLE_BUFFER_HPP
#define CUSHIM_GROWABLE_BUFFER_HPP

#include <cushim/typed_buffer.hpp>
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

namespace detail {

// A buffer without its element type; sizes are in bytes.
struct Growable {
    CUdeviceptr native = 0;
    std::size_t size = 0;
    std::size_t mapped = 0;   // from the start of the range
    std::size_t capacity = 0; // of the range
};

class GrowableMemory : public Owner<Growable> {
  public:
    static constexpr BufferKind kind{.names = {"GrowableBuffer", "GrowableBuffer::close",
                                               "GrowableBuffer::release_after",
                                               "GrowableBuffer::to_vector"},
                                     .is_growable = true};

    GrowableMemory() noexcept = default;
    CUSHIM_API static Result<GrowableMemory> create(Device device, std::size_t capacity,
                                                    std::size_t element_size,
                                                    const GrowableBufferOptions &options) noexcept;

    CUSHIM_API Result<void> resize(std::size_t elements, std::size_t element_size) noexcept;
    CUSHIM_API Result<void> reserve(std::size_t capacity, std::size_t element_size) noexcept;
    CUSHIM_API Result<void> shrink_to_fit() noexcept;
    CUSHIM_API Result<void> set_access(std::span<const AccessGrant> grants) noexcept;
    CUSHIM_API Result<AccessFlags> get_access(Device device) const noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

    std::size_t size_bytes() const noexcept { return value().size; }
    template <class T>
    DeviceSpan<T> span() const noexcept {
        return {native(), size_bytes() / sizeof(T)};
    }
    std::size_t mapped() const noexcept { return value().mapped; }
    std::size_t capacity() const noexcept { return value().capacity; }

  private:
    using Owner::Owner;
};

} // namespace detail

/* `size()` elements of T in device memory, at an address that stays while the buffer grows up to
 * `capacity()`. Addresses are reserved in advance, without memory; memory is mapped when it is
 * needed. Elements are never copied; new ones are uninitialised. Earlier views stay valid while the
 * buffer grows in place. It is true as a condition once it is created, even without capacity. See
 * also typed_buffer.hpp.
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
 * release_after(), which applies to the present and future memory. All other work that uses the
 * mapping must have completed before.
 *
 * Errors: see virtual_memory.hpp. A function that fails leaves the buffer unchanged, except
 * shrink_to_fit() and close().
 * Calls the entry points of AddressRange, PhysicalMemory and MappedRange. */
template <AllocatableType T>
class GrowableBuffer : public TypedBuffer<T, detail::GrowableMemory> {
    using Memory = detail::GrowableMemory;
    using Base = TypedBuffer<T, Memory>;

  public:
    using Base::Base;

    // A buffer of size 0 with room for at least `capacity` elements. A large capacity is cheap: it
    // reserves addresses, of which there are many terabytes. 0: call reserve() later.
    static Result<GrowableBuffer> create(Device device, std::size_t capacity,
                                         const GrowableBufferOptions &options = {}) noexcept {
        return Memory::create(device, capacity, sizeof(T), options);
    }

    // The maximum number of elements at this address.
    std::size_t capacity() const noexcept { return this->memory().capacity() / sizeof(T); }
    // The size of the physical memory that is mapped, in bytes; at least size_bytes().
    std::size_t mapped_bytes() const noexcept { return this->memory().mapped(); }

    // Changes the number of elements. Maps memory if necessary, and frees none. More than
    // capacity() elements: invalid_argument; see reserve().
    Result<void> resize(std::size_t size) noexcept {
        return this->memory().resize(size, sizeof(T));
    }

    // Makes room for at least `capacity` elements. If that exceeds capacity(), the same memory with
    // its content moves to another address, and the old address becomes invalid.
    Result<void> reserve(std::size_t capacity) noexcept {
        return this->memory().reserve(capacity, sizeof(T));
    }

    // Frees the pieces that contain no element. Returns the first failure, after trying all pieces.
    Result<void> shrink_to_fit() noexcept { return this->memory().shrink_to_fit(); }

    // Changes the access to the present and future memory. Devices that are not named keep theirs.
    // If CUDA rejects the access, the call fails and changes nothing.
    Result<void> set_access(std::span<const AccessGrant> grants) noexcept {
        return this->memory().set_access(grants);
    }
    Result<void> set_access(const AccessGrant &grant) noexcept {
        return this->memory().set_access(std::span(&grant, 1));
    }
    // The access of a device: that of the options or of the last set_access(); AccessFlags::none
    // for other devices. The buffer's own device has read_write if options.access was empty.
    Result<AccessFlags> get_access(Device device) const noexcept {
        return this->memory().get_access(device);
    }
};

} // namespace cushim

#endif
