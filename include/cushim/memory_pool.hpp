/* Memory pools: stream-ordered allocation that reuses freed memory, and pools that other processes
 * import. */
#ifndef CUSHIM_MEMORY_POOL_HPP
#define CUSHIM_MEMORY_POOL_HPP

#include <span>

#include <cushim/access.hpp>
#include <cushim/device.hpp>
#include <cushim/export_kinds.hpp>
#include <cushim/handle.hpp>
#include <cushim/unique_fd.hpp>

namespace cushim {

// The properties of a new pool.
struct MemoryPoolOptions {
    // How other processes can import the pool. Initially empty: the pool cannot be exported.
    ExportKinds exportable;
    // Maximum size in bytes; 0: unlimited. Requires CUDA 12.2.
    std::size_t max_size = 0;
    // The SECURITY_ATTRIBUTES of exported handles: required with exportable.win32, and null
    // without.
    void *win32_attributes = nullptr;
};

// The memory of a pool, in bytes.
struct PoolUsage {
    std::size_t reserved = 0;      // held by the pool, used or not
    std::size_t reserved_high = 0; // the maximum since the last reset_high_marks()
    std::size_t used = 0;          // allocated from it
    std::size_t used_high = 0;     // the maximum since the last reset_high_marks()
};

// When memory that was freed in one stream may be reused in another. CUDA's default: all.
struct PoolReuse {
    bool follow_event_dependencies = true; // if the other stream already waits for the free
    bool opportunistic = true;             // if the free has already completed
    bool internal_dependencies = true;     // by making the other stream wait for the free
};

// 64 bytes that identify memory of an exported pool. Plain data: send the bytes unchanged.
struct PoolPointer {
    unsigned char bytes[64] = {}; // a CUmemPoolPtrExportData
};

/* A memory pool of a device.
 *
 * CUDA keeps a destroyed pool until its last memory is freed. Buffers keep their pool alive.
 *
 * Threads: any number of threads may allocate at the same time.
 * Errors: not_supported_by_device if the device has no pools, or cannot share them in this way;
 * requires_newer_driver; out_of_memory; invalid_argument.
 * Requires CUDA 11.2 unless stated otherwise. */
class MemoryPool : public detail::Shared<MemoryPool, CUmemoryPool> {
  public:
    MemoryPool() noexcept = default;

    // A new pool of memory of this device. invalid_argument if options contradict each other.
    // cuMemPoolCreate, cuMemPoolDestroy.
    CUSHIM_API static Result<MemoryPool> create(Device device,
                                                const MemoryPoolOptions &options = {}) noexcept;

    // Borrows the device's default pool, which cannot be exported or destroyed.
    // cuDeviceGetDefaultMemPool.
    CUSHIM_API static Result<MemoryPool> default_of(Device device) noexcept;

    // Borrows the pool that DeviceBuffer::allocate_async() uses on this device: the default pool,
    // or that of set_current(), whose owner must keep it alive. cuDeviceGetMemPool.
    CUSHIM_API static Result<MemoryPool> current_of(Device device) noexcept;
    // Makes this the pool that DeviceBuffer::allocate_async() uses on this device. The owner of the
    // pool must keep it alive until another pool is set. cuDeviceSetMemPool.
    CUSHIM_API Result<void> set_current(Device device) const noexcept;

    // Owns a pool from cuMemPoolCreate. cuMemPoolDestroy.
    CUSHIM_API static Result<MemoryPool> adopt(CUmemoryPool pool) noexcept;
    // Does not own; the lender must keep the pool alive.
    static MemoryPool borrow(CUmemoryPool pool) noexcept { return {pool, nullptr}; }

    // The release threshold in bytes, initially 0. While the pool holds more memory, synchronizing
    // a stream, event or context returns unused memory to the system. cuMemPoolGetAttribute,
    // cuMemPoolSetAttribute.
    CUSHIM_API Result<std::size_t> release_threshold() const noexcept;
    CUSHIM_API Result<void> set_release_threshold(std::size_t bytes) const noexcept;

    // When the pool reuses memory. cuMemPoolGetAttribute.
    CUSHIM_API Result<PoolReuse> reuse() const noexcept;
    // Sets all parts; if one fails, the others are restored. cuMemPoolGetAttribute,
    // cuMemPoolSetAttribute.
    CUSHIM_API Result<void> set_reuse(const PoolReuse &reuse) const noexcept;

    // The memory that the pool holds, and the part that is in use. cuMemPoolGetAttribute, since
    // CUDA 11.3.
    CUSHIM_API Result<PoolUsage> usage() const noexcept;
    // Sets both maxima to the current values. cuMemPoolSetAttribute, since CUDA 11.3.
    CUSHIM_API Result<void> reset_high_marks() const noexcept;

    // Frees unused memory until at most this many bytes are reserved. cuMemPoolTrimTo.
    CUSHIM_API Result<void> trim_to(std::size_t bytes) const noexcept;

    // Grants other devices access to all present and future memory of the pool; its own device
    // always has access. All grants are one CUDA call; without grants, no CUDA call is made.
    // cuMemPoolSetAccess.
    CUSHIM_API Result<void> set_access(std::span<const AccessGrant> grants) const noexcept;
    Result<void> set_access(const AccessGrant &grant) const noexcept {
        return set_access(std::span(&grant, 1));
    }
    // The access of a device to the memory of the pool. cuMemPoolGetAccess.
    CUSHIM_API Result<AccessFlags> get_access(Device device) const noexcept;

    /* Export the pool to another process, which imports the pool and then single allocations of it.
     * Each call returns a new descriptor or handle. CUDA_ERROR_INVALID_VALUE (1) unless the pool
     * was created exportable in that way. cuMemPoolExportToShareableHandle. */
    CUSHIM_API Result<UniqueFd> export_fd() const noexcept;
    // Windows: exports a HANDLE, which the caller must close with CloseHandle.
    CUSHIM_API Result<void *> export_win32() const noexcept;
    // Exports to a fabric. Since CUDA 12.3.
    CUSHIM_API Result<FabricHandle> export_fabric() const noexcept;
    /* Import a pool of another process. Nothing can be allocated from it. Its own device has
     * access; the exporter's set_access() does not apply. The caller keeps the descriptor or
     * handle, and may close it afterwards.
     * cuMemPoolImportFromShareableHandle. */
    CUSHIM_API static Result<MemoryPool> import_fd(int descriptor) noexcept;
    CUSHIM_API static Result<MemoryPool> import_win32(void *handle) noexcept;
    // Imports from a fabric. Since CUDA 12.3.
    CUSHIM_API static Result<MemoryPool> import_fabric(const FabricHandle &handle) noexcept;

    /* Identifies memory of a pool for a process that imported the pool: see
     * PoolBuffer::import_from(). The pool must have been exported before, or CUDA returns
     * CUDA_ERROR_INVALID_VALUE (1). cuMemPoolExportPointer. */
    CUSHIM_API static Result<PoolPointer> export_pointer(CUdeviceptr address) noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const MemoryPool &pool) noexcept {
    return detail::text_of("MemoryPool", pool);
}

} // namespace cushim

#endif
