/* Imports memory of another API (Vulkan, Direct3D, NvSci). ExternalMemory::import_from() also
 * accepts a descriptor that another process exported with PhysicalMemory::export_fd().
 *
 *     CUSHIM_TRY(auto memory, ExternalMemory::import_from(
 *                                 context, ExternalMemorySource::opaque_fd(std::move(fd)), size));
 *     CUSHIM_TRY(auto buffer, memory.map_buffer(0, size));
 *     CUSHIM_TRY(auto floats, buffer.as<float>());
 *
 * Both APIs must use the same device: compare Device::uuid() with
 * VkPhysicalDeviceIDProperties::deviceUUID (Direct3D: the adapter LUID, with cuDeviceGetLuid).
 * Semaphores order the accesses of the two APIs: external_semaphore.hpp.
 */
#ifndef CUSHIM_EXTERNAL_MEMORY_HPP
#define CUSHIM_EXTERNAL_MEMORY_HPP

#include <cstddef>

#include <cushim/context.hpp>
#include <cushim/detail/owner_values.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/stream.hpp>
#include <cushim/unique_fd.hpp>
#include <cushim/win32_handle.hpp>

namespace cushim {

// Properties of the memory to import.
struct ExternalMemoryOptions {
    // Whether the other API allocated the memory for one resource only
    // (VkMemoryDedicatedAllocateInfo). Direct3D resources are always imported as dedicated.
    bool dedicated = false;
};

/* The source of an import: a handle and its kind. Moved, not copied.
 *
 * The source owns its file descriptor. ExternalMemory::import_from() takes the descriptor if it
 * succeeds. If it fails, the source is unchanged: retry the import, or take the descriptor out with
 * take_fd(). The caller must still close Windows handles. */
class ExternalMemorySource {
  public:
    // Linux: a descriptor from Vulkan (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT), or from
    // PhysicalMemory::export_fd().
    static ExternalMemorySource opaque_fd(UniqueFd fd,
                                          const ExternalMemoryOptions &options = {}) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, static_cast<UniqueFd &&>(fd), options};
    }
    // Linux: a dma-buf. Requires CUDA 13.0, and Jetson Thor or newer: on other devices the import
    // fails with not_supported_by_device. A dma-buf cannot be mapped as a mipmapped array.
    static ExternalMemorySource dma_buf(UniqueFd fd) noexcept {
        return {dma_buf_type, static_cast<UniqueFd &&>(fd), {}};
    }

    // Windows: an NT handle or a name from Vulkan
    // (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT).
    static ExternalMemorySource opaque_win32(Win32Handle handle,
                                             const ExternalMemoryOptions &options = {}) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32, handle, options};
    }
    // Windows: a global shared (KMT) handle. It has no name and does not keep the memory alive.
    static ExternalMemorySource
    opaque_win32_kmt(void *handle, const ExternalMemoryOptions &options = {}) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT, Win32Handle::handle(handle),
                options};
    }

    // Windows: a heap or a resource, from ID3D12Device::CreateSharedHandle.
    static ExternalMemorySource d3d12_heap(Win32Handle handle) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP, handle, {}};
    }
    static ExternalMemorySource d3d12_resource(Win32Handle handle) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE, handle, {.dedicated = true}};
    }
    // Windows: from IDXGIResource1::CreateSharedHandle.
    static ExternalMemorySource d3d11_resource(Win32Handle handle) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE, handle, {.dedicated = true}};
    }
    // Windows: from IDXGIResource::GetSharedHandle; see opaque_win32_kmt().
    static ExternalMemorySource d3d11_resource_kmt(void *handle) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT,
                Win32Handle::handle(handle),
                {.dedicated = true}};
    }

    // Tegra and QNX: an NvSciBufObj, which must outlive all owners of the import.
    static ExternalMemorySource nvscibuf(const void *object) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF, object};
    }

    // The kind of the handle, CU_EXTERNAL_MEMORY_HANDLE_TYPE_...
    CUexternalMemoryHandleType type() const noexcept { return type_; }
    // Whether the memory belongs to one resource only: ExternalMemoryOptions::dedicated.
    bool dedicated() const noexcept { return dedicated_; }
    // The descriptor, for kinds that have one; empty after a successful import.
    const UniqueFd &fd() const noexcept { return fd_; }
    // The Windows handle or name; both null for other kinds.
    Win32Handle win32() const noexcept { return win32_; }
    // The NvSciBufObj; null for other kinds.
    const void *nvsci_object() const noexcept { return nvsci_object_; }

    // Takes the descriptor out of the source.
    [[nodiscard]] UniqueFd take_fd() noexcept { return static_cast<UniqueFd &&>(fd_); }

    // CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD, which headers before 13.0 lack.
    static constexpr auto dma_buf_type = static_cast<CUexternalMemoryHandleType>(9);

  private:
    ExternalMemorySource(CUexternalMemoryHandleType type, UniqueFd &&fd,
                         const ExternalMemoryOptions &options) noexcept
        : fd_(static_cast<UniqueFd &&>(fd)), type_(type), dedicated_(options.dedicated) {}
    ExternalMemorySource(CUexternalMemoryHandleType type, Win32Handle handle,
                         const ExternalMemoryOptions &options) noexcept
        : win32_(handle), type_(type), dedicated_(options.dedicated) {}
    ExternalMemorySource(CUexternalMemoryHandleType type, const void *nvsci_object) noexcept
        : nvsci_object_(nvsci_object), type_(type) {}

    UniqueFd fd_;
    Win32Handle win32_ = Win32Handle::handle(nullptr);
    const void *nvsci_object_ = nullptr;
    CUexternalMemoryHandleType type_;
    bool dedicated_ = false;
};

/* A range of imported memory, mapped to a device address for kernels and copies. It keeps the
 * import alive. A buffer of size 0 is valid, has a null address, and makes no CUDA call.
 *
 * The memory is unmapped by cuMemFree. */
class ExternalBuffer : public detail::Owner<detail::ExternalBufferValue> {
  public:
    ExternalBuffer() noexcept = default;

    // The size in bytes.
    std::size_t size() const noexcept { return value().size; }
    // Whether size() is 0.
    bool empty() const noexcept { return size() == 0; }

    // A view of the whole buffer; valid as long as the buffer.
    DeviceSpan<std::byte> span() const noexcept { return {native(), size()}; }

    // A view of the whole buffer as elements of T. invalid_argument unless the size is a multiple
    // of sizeof(T) and the address is aligned for T.
    template <DeviceType T>
    Result<DeviceSpan<T>> as() const noexcept {
        CUSHIM_DETAIL_TRY_VOID(
            cushim_done,
            detail::check_elements(native(), size(), sizeof(T), alignof(T), "ExternalBuffer::as"));
        return DeviceSpan<T>(native(), size() / sizeof(T));
    }

    // Before the memory is unmapped, the destructor waits for all work in this stream: see
    // typed_buffer.hpp.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  private:
    friend class ExternalMemory;
    using Owner::Owner;
};

inline Text to_text(const ExternalBuffer &buffer) noexcept {
    return detail::text_of("ExternalBuffer", buffer, buffer.size());
}

/* Imported memory mapped as a mipmapped array: an image of the other API. It keeps the import
 * alive. */
class ExternalMipmappedArray : public detail::Owner<detail::ExternalArrayValue> {
  public:
    ExternalMipmappedArray() noexcept = default;

    // The number of mipmap levels.
    unsigned int levels() const noexcept { return value().levels; }

    // The array of one level, owned by this object. Level 0 is the largest. invalid_argument if the
    // level does not exist. cuMipmappedArrayGetLevel.
    CUSHIM_API Result<CUarray> level(unsigned int index) const noexcept;

    // Before the array is destroyed, the destructor waits for all work in this stream: see
    // typed_buffer.hpp.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  private:
    friend class ExternalMemory;
    using Owner::Owner;
};

inline Text to_text(const ExternalMipmappedArray &array) noexcept {
    return detail::text_of("ExternalMipmappedArray", array);
}

/* Imported memory of another API. The import keeps its context alive. Buffers and arrays mapped
 * from it keep the import alive.
 *
 * Threads: const functions may run on several threads at the same time. */
class ExternalMemory : public detail::Shared<ExternalMemory, detail::ExternalMemoryValue> {
  public:
    ExternalMemory() noexcept = default;

    /* Imports memory. `size` is the size of the whole memory object in bytes, as the other API
     * allocated it. On success the descriptor of the source is taken: source.fd() is empty, and the
     * caller must not close it. On failure the source is unchanged.
     *
     * Errors: invalid_argument for a size of 0 and for an invalid handle or descriptor;
     * unsupported_platform for descriptors on Windows and for Windows handles elsewhere;
     * requires_newer_driver; not_supported_by_device; CUDA_ERROR_UNKNOWN (999) if the handle is of
     * another kind.
     * cuImportExternalMemory, cuDestroyExternalMemory. */
    CUSHIM_API static Result<ExternalMemory>
    import_from(const Context &context, ExternalMemorySource &&source, std::size_t size) noexcept;

    // Takes ownership of an import that was made in this context with this size. invalid_argument
    // for a size of 0 and for a null handle.
    CUSHIM_API static Result<ExternalMemory> adopt(const Context &context, CUexternalMemory memory,
                                                   std::size_t size) noexcept;
    // Does not own; the lender must keep the import and its context alive until everything mapped
    // from it is destroyed.
    static ExternalMemory borrow(const Context &context, CUexternalMemory memory,
                                 std::size_t size) noexcept {
        return {{memory, context.native(), size}, nullptr};
    }

    // Bytes, as passed to the import.
    std::size_t size() const noexcept { return value().size; }

    /* Maps `size` bytes, starting at byte `offset`. Buffers may overlap. A size of 0 gives a buffer
     * of size 0. Errors: invalid_argument if the range exceeds the import;
     * CUDA_ERROR_INVALID_VALUE (1) if the memory is smaller than the size passed to the import.
     * cuExternalMemoryGetMappedBuffer, cuMemFree_v2. */
    CUSHIM_API Result<ExternalBuffer> map_buffer(std::size_t offset,
                                                 std::size_t size) const noexcept;

    /* Maps an image with `levels` mipmap levels that starts at byte `offset`. The description must
     * match the image of the other API; CUDA cannot check that.
     * Errors: invalid_argument if `offset` is not less than size(), or `levels` or
     * the width is 0; the status of the driver if it rejects the description.
     * cuExternalMemoryGetMappedMipmappedArray, cuMipmappedArrayDestroy. */
    CUSHIM_API Result<ExternalMipmappedArray>
    map_mipmapped(std::size_t offset, const CUDA_ARRAY3D_DESCRIPTOR &description,
                  unsigned int levels = 1) const noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const ExternalMemory &memory) noexcept {
    return detail::text_of("ExternalMemory", memory, memory.size());
}

} // namespace cushim

#endif
