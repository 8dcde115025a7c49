/* The base of ManagedBuffer. */
#ifndef CUSHIM_DETAIL_MANAGED_MEMORY_HPP
#define CUSHIM_DETAIL_MANAGED_MEMORY_HPP

#include <cstddef>

#include <cushim/detail/driver_headers.h>
#include <cushim/handle.hpp>

namespace cushim {

class Context;
class Stream;
class ManagedLocation;
struct ManagedOptions;
enum class ManagedAttachment : unsigned int;

namespace detail {

// A buffer without its element type.
struct ManagedBlock {
    CUdeviceptr native = 0;
    std::size_t size = 0;     // bytes
    bool zero_length = false; // allocated with no elements: valid, unlike an empty owner
};

// In bytes.
struct ManagedPart {
    std::size_t offset;
    std::size_t size;
};

class ManagedMemory : public Owner<ManagedBlock> {
  public:
    ManagedMemory() noexcept = default;

    std::size_t size_bytes() const noexcept { return value().size; }
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;
    CUSHIM_API Result<void> attach(const Stream &stream,
                                   ManagedAttachment attachment) const noexcept;

  protected:
    CUSHIM_API static Result<ManagedMemory> allocate_bytes(const Context &context,
                                                           std::size_t bytes,
                                                           const ManagedOptions &options) noexcept;
    CUSHIM_API static Result<ManagedMemory> adopt_bytes(const Context &context, CUdeviceptr address,
                                                        std::size_t bytes) noexcept;
    CUSHIM_API Result<void> advise_part(CUmem_advise advice, ManagedLocation location,
                                        const ManagedPart &part) const noexcept;
    CUSHIM_API Result<void> prefetch_part(const Stream &stream, ManagedLocation location,
                                          const ManagedPart &part) const noexcept;

  private:
    using Owner::Owner;
};

} // namespace detail
} // namespace cushim

#endif
