/* The base of the owners of pinned host memory: PinnedBuffer, HostMappedBuffer, HostRegistration.
 */
#ifndef CUSHIM_DETAIL_HOST_MEMORY_HPP
#define CUSHIM_DETAIL_HOST_MEMORY_HPP

#include <cstddef>
#include <new>
#include <type_traits>

#include <cushim/detail/ranges.hpp>
#include <cushim/handle.hpp>
#include <cushim/host_memory.hpp>

namespace cushim {

class Context;
class Stream;

namespace detail {

// A buffer without its element type.
struct HostBlock {
    void *native = nullptr;   // address on the host
    CUdeviceptr device = 0;   // address on devices; 0 if not mapped
    std::size_t size = 0;     // bytes
    bool zero_length = false; // allocated with no elements: valid, unlike an empty owner
};

enum class DeviceMapped : bool { no, yes };

// Its errors name no function: several classes have it.
class HostMemory : public Owner<HostBlock> {
  public:
    HostMemory() noexcept = default;

    std::size_t size_bytes() const noexcept { return value().size; }

    CUSHIM_API Result<unsigned int> flags() const noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  protected:
    // `size` elements of T.
    template <class T>
    static Result<HostMemory> allocate(const Context &context, std::size_t size,
                                       DeviceMapped mapped, const PinnedOptions &options) noexcept {
        if (options.value_initialize && !std::is_default_constructible_v<T>) {
            return Error::invalid_argument("value_initialize is set but the elements have no "
                                           "default constructor; set it to false");
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

    // Owns memory from cuMemHostAlloc. On failure the caller keeps it.
    CUSHIM_API static Result<HostMemory> adopt(const Context &context, void *memory,
                                               std::size_t bytes, DeviceMapped mapped) noexcept;

    // The caller keeps the memory. `flags`: CU_MEMHOSTREGISTER_..., in addition to DEVICEMAP.
    CUSHIM_API static Result<HostMemory> register_range(const Context &context, void *memory,
                                                        std::size_t bytes, DeviceMapped mapped,
                                                        unsigned int flags) noexcept;

    CUdeviceptr device_address() const noexcept { return value().device; }

  private:
    using Owner::Owner;

    CUSHIM_API static Result<HostMemory> allocate_bytes(const Context &context, std::size_t bytes,
                                                        DeviceMapped mapped,
                                                        const PinnedOptions &options) noexcept;
    // Requests the device address, in the current context.
    Result<void> map() noexcept;
};

} // namespace detail
} // namespace cushim

#endif
