/* What the owners of pinned host memory have in common: PinnedBuffer, HostMappedBuffer and
 * HostRegistration.
 *
 * Pinned memory stays where it is, so that devices copy from and to it by themselves; where it is
 * mapped, kernels use it in its place.
 */
#ifndef CUSHIM_HOST_MEMORY_HPP
#define CUSHIM_HOST_MEMORY_HPP

#include <new>
#include <type_traits>

#include <cushim/context.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/stream.hpp>

namespace cushim {

struct PinnedOptions {
    // Pinned for the devices of all contexts. Where host and devices share one address space, as on
    // all 64-bit systems, it always is.
    bool portable = false;
    // Quicker for devices to read, and slow for the host to read: for what the host only writes.
    bool write_combined = false;
    // Every element is T(); invalid_argument where there is no such thing. It must not throw: an exception ends
    // the program. Without it they are whatever was in the memory.
    bool value_initialize = true;
};

namespace detail {

// What the owners are behind their T.
struct HostBlock {
    void *native = nullptr;   // where the host has it
    CUdeviceptr device = 0;   // where devices have it; 0 where it is not mapped
    std::size_t size = 0;     // bytes
    bool zero_length = false; // allocated with no elements: valid, unlike an empty owner
};

enum class DeviceMapped : bool { no, yes };

class HostMemory : public Owner<HostBlock> {
  public:
    HostMemory() noexcept = default;

    std::size_t size_bytes() const noexcept { return value().size; }

    // CU_MEMHOSTALLOC_..., CU_MEMHOSTREGISTER_...: what was asked for, and what the driver gives
    // anyway. cuMemHostGetFlags, since CUDA 2.3.
    CUSHIM_API Result<unsigned int> flags() const noexcept;

    // Its owner waits for all work in this stream before it lets the memory go: as
    // DeviceBuffer::release_after.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  protected:
    // `size` elements of T.
    template <class T>
    static Result<HostMemory> allocate(const Context &context, std::size_t size,
                                       DeviceMapped mapped, const PinnedOptions &options) noexcept {
        if (options.value_initialize && !std::is_default_constructible_v<T>) {
            return Error::invalid_argument("value_initialize, and the elements have no default");
        }
        CUSHIM_TRY(const std::size_t bytes, bytes_of(size, sizeof(T)));
        CUSHIM_TRY(HostMemory memory, allocate_bytes(context, bytes, mapped, options));
        if constexpr (std::is_default_constructible_v<T>) {
            if (options.value_initialize) {
                T *const elements = static_cast<T *>(memory.native());
                for (std::size_t index = 0; index < size; ++index) {
                    ::new (static_cast<void *>(elements + index)) T();
                }
            }
        }
        return memory;
    }

    // What cuMemHostAlloc gave. On failure it stays the caller's.
    CUSHIM_API static Result<HostMemory> adopt(const Context &context, void *memory,
                                               std::size_t bytes, DeviceMapped mapped) noexcept;

    // Memory that stays somebody else's. `flags`: CU_MEMHOSTREGISTER_..., besides DEVICEMAP.
    CUSHIM_API static Result<HostMemory> register_range(const Context &context, void *memory,
                                                        std::size_t bytes, DeviceMapped mapped,
                                                        unsigned int flags) noexcept;

    CUdeviceptr device_address() const noexcept { return value().device; }

  private:
    using Owner::Owner;

    CUSHIM_API static Result<HostMemory> allocate_bytes(const Context &context, std::size_t bytes,
                                                        DeviceMapped mapped,
                                                        const PinnedOptions &options) noexcept;
    // In the current context: asks where devices have it.
    Result<void> map() noexcept;
};

} // namespace detail
} // namespace cushim

#endif
