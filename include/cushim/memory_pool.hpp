/* Stream-ordered memory out of pools: allocated and freed in order of a stream, at the cost of a list
 * operation; and pools that other processes import. */
#ifndef CUSHIM_MEMORY_POOL_HPP
#define CUSHIM_MEMORY_POOL_HPP

#include <cstring>
#include <span>

#include <cushim/access.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/device_span.hpp>
#include <cushim/export_kinds.hpp>
#include <cushim/handle.hpp>
#include <cushim/stream.hpp>
#include <cushim/unique_fd.hpp>

namespace cushim {

struct MemoryPoolOptions {
    // How other processes can import it.
    ExportKinds exportable;
    // In bytes, how much it may hold; 0: as much as there is. CUDA 12.2.
    std::size_t max_size = 0;
    // With exportable.win32, and only then: the SECURITY_ATTRIBUTES of the handles that are exported.
    void *win32_attributes = nullptr;
};

// In bytes.
struct PoolUsage {
    std::size_t reserved = 0;      // held by the pool, in use or not
    std::size_t reserved_high = 0; // the most since the last reset_high_marks()
    std::size_t used = 0;          // allocated from it
    std::size_t used_high = 0;
};

// When memory that was freed in one stream may be given out in another. CUDA's default: all.
struct PoolReuse {
    bool follow_event_dependencies = true;
    bool opportunistic = true;         // where the free is done already
    bool internal_dependencies = true; // by making the other stream wait for the free
};

// 64 bytes that name memory of an exported pool. Plain data: send it as it is.
struct PoolPointer {
    unsigned char bytes[64] = {};
};

/* A pool of memory on a device.
 *
 * Threads: the rules of handle.hpp; several threads may allocate at once. Neither needs nor changes a
 * current context. A pool that is destroyed lives on until the last memory from it is freed; buffers
 * keep theirs.
 * Errors: not_supported_by_device where the device has no pools, or cannot share them in this way;
 * requires_newer_driver; out_of_memory; invalid_argument. Since CUDA 11.2 where nothing else is said. */
class MemoryPool : public detail::Shared<MemoryPool, CUmemoryPool> {
  public:
    MemoryPool() noexcept = default;

    // cuMemPoolCreate, cuMemPoolDestroy.
    CUSHIM_API static Result<MemoryPool> create(Device device,
                                                const MemoryPoolOptions &options = {}) noexcept;

    // Borrows the pool that the device has from the start: it cannot be destroyed, nor shared.
    // cuDeviceGetDefaultMemPool.
    CUSHIM_API static Result<MemoryPool> default_of(Device device) noexcept;

    // Borrows the one that DeviceBuffer::allocate_async() takes from on this device: the default one,
    // unless set_current() chose another, which its owner keeps alive. cuDeviceGetMemPool.
    CUSHIM_API static Result<MemoryPool> current_of(Device device) noexcept;
    // cuDeviceSetMemPool.
    CUSHIM_API Result<void> set_current(Device device) const noexcept;

    // Takes over a pool; cuMemPoolDestroy when the last owner goes.
    CUSHIM_API static Result<MemoryPool> adopt(CUmemoryPool pool) noexcept;
    // Does not own: the lender keeps it.
    CUSHIM_API static MemoryPool borrow(CUmemoryPool pool) noexcept;

    // In bytes: what the pool keeps for itself when a synchronisation would let it give memory back.
    // 0 from the start. cuMemPoolGetAttribute, cuMemPoolSetAttribute.
    CUSHIM_API Result<std::size_t> release_threshold() const noexcept;
    CUSHIM_API Result<void> set_release_threshold(std::size_t bytes) const noexcept;

    // cuMemPoolGetAttribute, cuMemPoolSetAttribute.
    CUSHIM_API Result<PoolReuse> reuse() const noexcept;
    // All or none of it: where one part fails, the others are put back.
    CUSHIM_API Result<void> set_reuse(const PoolReuse &reuse) const noexcept;

    // cuMemPoolGetAttribute; since CUDA 11.3.
    CUSHIM_API Result<PoolUsage> usage() const noexcept;
    // The highest are the current ones again. cuMemPoolSetAttribute; since CUDA 11.3.
    CUSHIM_API Result<void> reset_high_marks() const noexcept;

    // Gives unused memory back until no more than this many bytes are reserved. cuMemPoolTrimTo.
    CUSHIM_API Result<void> trim_to(std::size_t bytes) const noexcept;

    // Who else may access all memory of the pool, that of the future included; its own device always
    // may. All grants in one call; of none: success. cuMemPoolSetAccess.
    CUSHIM_API Result<void> set_access(std::span<const AccessGrant> grants) const noexcept;
    Result<void> set_access(const AccessGrant &grant) const noexcept {
        return set_access(std::span(&grant, 1));
    }
    // cuMemPoolGetAccess.
    CUSHIM_API Result<AccessFlags> get_access(Device device) const noexcept;

    /* For another process, which imports the pool and then, one by one, what was allocated from it. Each
     * call gives another descriptor or handle. The pool must have been made exportable in that way, else
     * CUDA answers status 1. cuMemPoolExportToShareableHandle. */
    CUSHIM_API Result<UniqueFd> export_fd() const noexcept;
    // A HANDLE, which the caller gives to CloseHandle.
    CUSHIM_API Result<void *> export_win32() const noexcept;
    // Since CUDA 12.3.
    CUSHIM_API Result<FabricHandle> export_fabric() const noexcept;
    /* Another process's pool: nothing can be allocated from it, and it has no default of its own for
     * access. The descriptor or handle stays the caller's, who may close it then.
     * cuMemPoolImportFromShareableHandle. */
    CUSHIM_API static Result<MemoryPool> import_fd(int descriptor) noexcept;
    CUSHIM_API static Result<MemoryPool> import_win32(void *handle) noexcept;
    // Since CUDA 12.3.
    CUSHIM_API static Result<MemoryPool> import_fabric(const FabricHandle &handle) noexcept;

    /* What names this memory in the process that imported its pool, which was exported before: to CUDA
     * the memory of a pool that never was cannot be named (status 1). cuMemPoolExportPointer. */
    CUSHIM_API static Result<PoolPointer> export_pointer(CUdeviceptr address) noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const MemoryPool &pool) noexcept {
    return detail::text_of("MemoryPool", pool);
}

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

/* `size()` elements of T out of a pool, uninitialised. Allocated in order of a stream, and freed in
 * order of that stream once the owner goes: work in other streams that uses it must be waited for
 * there first (Stream::wait_event). An empty buffer is valid, and never reaches CUDA.
 *
 * Keeps its pool and its stream alive; of the streams legacy() and per_thread() the same is true as for
 * DeviceBuffer. Threads: the rules of handle.hpp. */
template <AllocatableType T>
class PoolBuffer {
    static_assert(!std::is_const_v<T>, "the elements of a buffer are written");

  public:
    PoolBuffer() noexcept = default;

    // cuMemAllocFromPoolAsync, cuMemFreeAsync; for a borrowed stream cuStreamGetCtx.
    static Result<PoolBuffer> allocate(const MemoryPool &pool, const Stream &stream,
                                       std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return detail::PoolMemory::allocate(pool, stream, bytes).transform(own);
    }

    /* What another process allocated from the pool that was imported. It must not be used before the
     * exporter's stream has allocated it, nor freed there before it is freed here: events say so
     * (ipc.hpp). invalid_argument where the memory is smaller than the sender says.
     * cuMemPoolImportPointer, cuPointerGetAttribute, cuMemFreeAsync. */
    static Result<PoolBuffer> import_from(const MemoryPool &pool, const Stream &stream,
                                          const PoolPointer &pointer, std::size_t size) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(size, sizeof(T)));
        return detail::PoolMemory::import_from(pool, stream, pointer, bytes).transform(own);
    }

    explicit operator bool() const noexcept { return static_cast<bool>(memory_); }

    CUdeviceptr native() const noexcept { return memory_.native(); }
    // For kernels' parameters; host code must not read through it.
    T *data() const noexcept { return reinterpret_cast<T *>(native()); }
    std::size_t size() const noexcept { return memory_.size() / sizeof(T); }
    std::size_t size_bytes() const noexcept { return memory_.size(); }
    bool empty() const noexcept { return size() == 0; }

    // All of it; valid as long as the buffer is.
    DeviceSpan<T> span() const noexcept { return {native(), size()}; }
    operator DeviceSpan<T>() const noexcept { return span(); }
    operator DeviceSpan<const T>() const noexcept { return span(); }

    // For the process that imported the pool: MemoryPool::export_pointer(). Export the pool first.
    Result<PoolPointer> export_pointer() const noexcept {
        return MemoryPool::export_pointer(native());
    }

    // As Owner's: handle.hpp.
    void reset() noexcept { memory_.reset(); }
    Result<void> close() noexcept { return memory_.close(); }
    [[nodiscard]] CUdeviceptr release() noexcept { return memory_.release(); }

  private:
    friend struct detail::Access;
    explicit PoolBuffer(detail::PoolMemory &&memory) noexcept
        : memory_(static_cast<detail::PoolMemory &&>(memory)) {}
    static PoolBuffer own(detail::PoolMemory &&memory) noexcept {
        return PoolBuffer(static_cast<detail::PoolMemory &&>(memory));
    }

    detail::PoolMemory memory_;
};

template <AllocatableType T>
Text to_text(const PoolBuffer<T> &buffer) noexcept {
    return detail::text_of("PoolBuffer", buffer, buffer.size_bytes());
}

} // namespace cushim

#endif
