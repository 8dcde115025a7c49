/* The owner in a PoolBuffer. */
#ifndef CUSHIM_DETAIL_POOL_MEMORY_HPP
#define CUSHIM_DETAIL_POOL_MEMORY_HPP

#include <cushim/detail/device_memory.hpp>

namespace cushim {

class MemoryPool;
struct PoolPointer;

namespace detail {

class PoolMemory : public Owner<Memory> {
  public:
    PoolMemory() noexcept = default;
    CUSHIM_API static Result<PoolMemory> allocate(const MemoryPool &pool, const Stream &stream,
                                                  std::size_t bytes) noexcept;
    CUSHIM_API static Result<PoolMemory> import_from(const MemoryPool &pool, const Stream &stream,
                                                     const PoolPointer &pointer,
                                                     std::size_t bytes) noexcept;
    std::size_t size() const noexcept { return value().size; }

  private:
    using Owner::Owner;
};

} // namespace detail
} // namespace cushim

#endif
