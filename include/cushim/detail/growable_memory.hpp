/* The owner in a GrowableBuffer. */
#ifndef CUSHIM_DETAIL_GROWABLE_MEMORY_HPP
#define CUSHIM_DETAIL_GROWABLE_MEMORY_HPP

#include <cstddef>
#include <span>

#include <cushim/access.hpp>
#include <cushim/handle.hpp>

namespace cushim {

class Stream;
struct GrowableBufferOptions;

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
    GrowableMemory() noexcept = default;
    CUSHIM_API static Result<GrowableMemory> create(Device device, std::size_t capacity,
                                                    const GrowableBufferOptions &options) noexcept;

    CUSHIM_API Result<void> resize(std::size_t elements, std::size_t element_size) noexcept;
    CUSHIM_API Result<void> reserve(std::size_t capacity) noexcept;
    CUSHIM_API Result<void> shrink_to_fit() noexcept;
    CUSHIM_API Result<void> set_access(std::span<const AccessGrant> grants) noexcept;
    CUSHIM_API Result<void> set_one_access(const AccessGrant &grant) noexcept;
    CUSHIM_API Result<AccessFlags> get_access(Device device) const noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) noexcept;

    std::size_t size() const noexcept { return value().size; }
    std::size_t mapped() const noexcept { return value().mapped; }
    std::size_t capacity() const noexcept { return value().capacity; }

  private:
    using Owner::Owner;
};

} // namespace detail
} // namespace cushim

#endif
