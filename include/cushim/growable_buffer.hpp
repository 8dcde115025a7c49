/* Device memory that grows in place: its address stays, and so does what is in it. */
#ifndef CUSHIM_GROWABLE_BUFFER_HPP
#define CUSHIM_GROWABLE_BUFFER_HPP

#include <cushim/virtual_memory.hpp>

namespace cushim {

struct GrowableBufferOptions {
    // How its memory is made. What win32_attributes points to must live as long as the buffer grows.
    PhysicalMemoryOptions memory;
    // It grows by this many bytes at least, rounded up to what CUDA recommends; 0: by no more than is
    // needed, rounded likewise. Each growth costs some calls of CUDA: some ten microseconds.
    std::size_t step = 0;
    // Who may access it; copied. Empty: the device itself may read and write. What CUDA does not give shows
    // when the buffer first grows.
    std::span<const AccessGrant> access;
};

namespace detail {

// What a growable buffer is behind its T: sizes in bytes.
struct Growable {
    CUdeviceptr native = 0;
    std::size_t size = 0;
    std::size_t mapped = 0;   // from the beginning on
    std::size_t capacity = 0; // of the range
};

class GrowableMemory : public Owner<Growable> {
  public:
    GrowableMemory() noexcept = default;
    CUSHIM_API static Result<GrowableMemory> create(Device device, std::size_t capacity,
                                                    const GrowableBufferOptions &options) noexcept;

    CUSHIM_API Result<void> resize(std::size_t size) noexcept;
    CUSHIM_API Result<void> reserve(std::size_t capacity) noexcept;
    CUSHIM_API Result<void> shrink_to_fit() noexcept;
    CUSHIM_API Result<void> set_access(std::span<const AccessGrant> grants) noexcept;
    CUSHIM_API Result<AccessFlags> get_access(Device device) const noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) noexcept;

    std::size_t size() const noexcept { return value().size; }
    std::size_t mapped() const noexcept { return value().mapped; }
    std::size_t capacity() const noexcept { return value().capacity; }

  private:
    using Owner::Owner;
};

} // namespace detail

/* `size()` elements of T in memory of a device, at an address that does not change while it grows up
 * to `capacity()`: addresses are reserved at once, for nothing, and memory is mapped behind them as
 * it is needed. No element is ever copied or touched; new ones are uninitialised.
 *
 *     auto buffer = GrowableBuffer<float>::create(device, std::size_t(1) << 36);
 *     buffer->resize(1'000'000);
 *     ...                            kernels write to buffer->data()
 *     buffer->resize(2'000'000);     the same data(), the same million elements
 *
 * Its memory comes in pieces, each what it grew by at once. To export one of them, ask
 * PhysicalMemory::retain_from() for what lies at an address.
 *
 * Growing waits for nothing: work that uses the old elements may be running meanwhile. What gives
 * memory back (shrink_to_fit(), reserve() beyond the capacity, the end of the buffer) waits for
 * nothing either, unless release_after() said what for: without that, work that uses the elements must be
 * done by then.
 *
 * Whatever fails leaves the buffer as it was, but for shrink_to_fit().
 *
 * Threads: the rules of handle.hpp. Neither needs nor changes a current context.
 * Errors: those of virtual_memory.hpp. CUDA entry points: those of AddressRange, PhysicalMemory and
 * MappedRange. Since CUDA 10.2. */
template <AllocatableType T>
class GrowableBuffer {
    static_assert(!std::is_const_v<T>, "the elements of a buffer are written");

  public:
    GrowableBuffer() noexcept = default;

    // With room for `capacity` elements at least, and none yet. Large is cheap: what is reserved is
    // addresses, of which there are many terabytes. 0: reserve() makes room later.
    static Result<GrowableBuffer> create(Device device, std::size_t capacity,
                                         const GrowableBufferOptions &options = {}) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(capacity, sizeof(T)));
        CUSHIM_TRY(auto memory, detail::GrowableMemory::create(device, bytes, options));
        return GrowableBuffer(static_cast<detail::GrowableMemory &&>(memory));
    }

    explicit operator bool() const noexcept { return static_cast<bool>(memory_); }

    // 0 where nothing is reserved.
    CUdeviceptr native() const noexcept { return memory_.native(); }
    // For kernels' parameters; host code must not read through it.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }
    std::size_t size() const noexcept { return memory_.size() / sizeof(T); }
    std::size_t size_bytes() const noexcept { return memory_.size(); }
    bool empty() const noexcept { return size() == 0; }
    // How many elements it can have at this address.
    std::size_t capacity() const noexcept { return memory_.capacity() / sizeof(T); }
    // The memory that it occupies.
    std::size_t mapped_bytes() const noexcept { return memory_.mapped(); }

    // All elements; what was got before stays valid while the buffer grows in place.
    DeviceSpan<T> span() const noexcept { return {native(), size()}; }
    operator DeviceSpan<T>() const noexcept { return span(); }
    operator DeviceSpan<const T>() const noexcept { return span(); }

    // To `size` elements: memory is added where they need it, and none is given back where they are
    // fewer. More than capacity(): invalid_argument with the numbers; see reserve().
    Result<void> resize(std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return memory_.resize(bytes);
    }

    // Room for `capacity` elements at least. Where that is more than there is, the same memory, with
    // what is in it, moves to another address: the old one is gone then.
    Result<void> reserve(std::size_t capacity) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(capacity, sizeof(T)));
        return memory_.reserve(bytes);
    }

    // Gives memory back that no element lies in, in the pieces by which it grew. The first failure,
    // after which the rest was done all the same.
    Result<void> shrink_to_fit() noexcept { return memory_.shrink_to_fit(); }

    // Changes who may access it, now and when it grows. Devices that are not named keep what they have. What
    // CUDA does not give is refused at once, and changes nothing: where no memory is there yet, some is made
    // and mapped elsewhere for a moment, to ask.
    Result<void> set_access(std::span<const AccessGrant> grants) noexcept {
        return memory_.set_access(grants);
    }
    Result<void> set_access(const AccessGrant &grant) noexcept {
        return set_access(std::span(&grant, 1));
    }
    // none where the device was never named.
    Result<AccessFlags> get_access(Device device) const noexcept {
        return memory_.get_access(device);
    }

    // As MappedRange::release_after, for all of its memory, now and when it grows.
    Result<void> release_after(const Stream &stream) noexcept {
        return memory_.release_after(stream);
    }

    // As Owner's: handle.hpp.
    void reset() noexcept { memory_.reset(); }
    Result<void> close() noexcept { return memory_.close(); }

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
