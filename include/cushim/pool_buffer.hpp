/* Owned device memory from a memory pool. */
#ifndef CUSHIM_POOL_BUFFER_HPP
#define CUSHIM_POOL_BUFFER_HPP

#include <cushim/device_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/stream.hpp>
#include <cushim/typed_buffer.hpp>

namespace cushim {

namespace detail {

class PoolMemory : public DeviceMemory {
  public:
    static constexpr BufferKind kind{.names = {"PoolBuffer", "PoolBuffer::close",
                                               "PoolBuffer::release_after",
                                               "PoolBuffer::to_vector"}};

    PoolMemory() noexcept = default;
    CUSHIM_API static Result<PoolMemory> allocate(const MemoryPool &pool, const Stream &stream,
                                                  std::size_t count,
                                                  std::size_t element_size) noexcept;
    CUSHIM_API static Result<PoolMemory> import_from(const MemoryPool &pool, const Stream &stream,
                                                     const PoolPointer &pointer, std::size_t count,
                                                     std::size_t element_size) noexcept;

  private:
    using DeviceMemory::DeviceMemory;
};

} // namespace detail

/* `size()` uninitialised elements of T from a pool; see typed_buffer.hpp. The buffer keeps its pool
 * and its stream alive.
 *
 * The memory is allocated and freed in stream order. The buffer may be destroyed while its stream
 * still uses it; work in other streams must be ordered before the free with Stream::wait_event().
 *
 * Threads and context: see DeviceBuffer.
 * Requires CUDA 11.2. */
template <AllocatableType T>
class PoolBuffer : public TypedBuffer<T, detail::PoolMemory> {
    using Memory = detail::PoolMemory;
    using Base = TypedBuffer<T, Memory>;

  public:
    using Base::Base;

    // Allocates `size` elements in stream order: work enqueued in the stream after this call may
    // use the memory. cuMemAllocFromPoolAsync, cuMemFreeAsync; for a borrowed stream
    // cuStreamGetCtx.
    static Result<PoolBuffer> allocate(const MemoryPool &pool, const Stream &stream,
                                       std::size_t size) noexcept {
        return Memory::allocate(pool, stream, size, sizeof(T));
    }

    /* Imports memory that another process allocated from the imported pool. The importer must not
     * use it before the exporter's stream has reached the allocation. The exporter must not free it
     * before the importer has freed it. Order both with interprocess events (ipc.hpp).
     * invalid_argument if the memory is smaller than `size` elements. cuMemPoolImportPointer,
     * cuPointerGetAttribute, cuMemFreeAsync. */
    static Result<PoolBuffer> import_from(const MemoryPool &pool, const Stream &stream,
                                          const PoolPointer &pointer, std::size_t size) noexcept {
        return Memory::import_from(pool, stream, pointer, size, sizeof(T));
    }

    // Identifies the memory for a process that imported the pool: see MemoryPool::export_pointer().
    Result<PoolPointer> export_pointer() const noexcept {
        return detail::named("PoolBuffer::export_pointer",
                             *this ? MemoryPool::export_pointer(this->native())
                                   : Error::invalid_argument("the buffer has no memory"));
    }
};

} // namespace cushim

#endif
