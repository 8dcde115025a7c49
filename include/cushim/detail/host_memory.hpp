/* The owners in PinnedBuffer, HostMappedBuffer and HostRegistration. */
#ifndef CUSHIM_DETAIL_HOST_MEMORY_HPP
#define CUSHIM_DETAIL_HOST_MEMORY_HPP

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

#include <cushim/detail/typed_buffer.hpp>
#include <cushim/handle.hpp>

namespace cushim {

class Context;
class Stream;
struct PinnedBufferOptions;

namespace detail {

// Memory without its element type.
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
    CUSHIM_API static Result<HostMemory> allocate(const Context &context, std::size_t count,
                                                  std::size_t element_size, DeviceMapped mapped,
                                                  const PinnedBufferOptions &options) noexcept;
    // Owns memory from cuMemHostAlloc. On failure the caller keeps it.
    CUSHIM_API static Result<HostMemory> adopt(const Context &context, void *memory,
                                               std::size_t count, std::size_t element_size,
                                               DeviceMapped mapped) noexcept;
    // The caller keeps the memory. `flags`: CU_MEMHOSTREGISTER_..., in addition to DEVICEMAP.
    CUSHIM_API static Result<HostMemory> register_range(const Context &context, void *memory,
                                                        std::size_t bytes, DeviceMapped mapped,
                                                        unsigned int flags) noexcept;
    CUSHIM_API Result<unsigned int> flags() const noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

    std::size_t size_bytes() const noexcept { return value().size; }
    CUdeviceptr device_address() const noexcept { return value().device; }
    template <class T>
    std::span<T> span() const noexcept {
        return {static_cast<T *>(native()), size_bytes() / sizeof(T)};
    }

  private:
    using Owner::Owner;

    // Requests the device address, in the current context.
    Result<void> map() noexcept;
};

class PinnedMemory : public HostMemory {
  public:
    static constexpr BufferKind kind{
        .names = {"PinnedBuffer", "PinnedBuffer::close", "PinnedBuffer::release_after",
                  "PinnedBuffer::to_vector", "PinnedBuffer::synchronized_span"},
        .on_host = true,
        .on_device = false};

    PinnedMemory() noexcept = default;
    PinnedMemory(HostMemory &&memory) noexcept : HostMemory(static_cast<HostMemory &&>(memory)) {}
};

class MappedMemory : public HostMemory {
  public:
    static constexpr BufferKind kind{
        .names = {"HostMappedBuffer", "HostMappedBuffer::close", "HostMappedBuffer::release_after",
                  "HostMappedBuffer::to_vector", "HostMappedBuffer::synchronized_span"},
        .on_host = true};

    MappedMemory() noexcept = default;
    MappedMemory(HostMemory &&memory) noexcept : HostMemory(static_cast<HostMemory &&>(memory)) {}
};

class RegisteredMemory : public HostMemory {
  public:
    static constexpr BufferKind kind{
        .names = {"HostRegistration", "HostRegistration::close", "HostRegistration::release_after",
                  "HostRegistration::to_vector", "HostRegistration::synchronized_span"},
        .on_host = true,
        .is_lent = true};

    RegisteredMemory() noexcept = default;
    RegisteredMemory(HostMemory &&memory) noexcept
        : HostMemory(static_cast<HostMemory &&>(memory)) {}
};

} // namespace detail
} // namespace cushim

#endif
