/* Memory that another API made (Vulkan, Direct3D, NvSci, or CUDA itself in another process), imported
 * into CUDA.
 *
 *     CUSHIM_TRY(auto memory, ExternalMemory::import_from(
 *                                 context, ExternalMemorySource::opaque_fd(std::move(fd)), size));
 *     CUSHIM_TRY(auto buffer, memory.map_buffer(0, size));
 *     CUSHIM_TRY(auto floats, buffer.as<float>());
 *
 * The other API must be on the same device: match devices by Device::uuid(). Who writes when is settled by
 * semaphores: external_semaphore.hpp.
 */
#ifndef CUSHIM_EXTERNAL_MEMORY_HPP
#define CUSHIM_EXTERNAL_MEMORY_HPP

#include <cstddef>

#include <cushim/context.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/stream.hpp>
#include <cushim/unique_fd.hpp>
#include <cushim/win32_handle.hpp>

namespace cushim {

struct ExternalMemoryOptions {
    // The other API allocated it for one resource only (VkMemoryDedicatedAllocateInfo). Where
    // CUDA demands that, cushim says so by itself.
    bool dedicated = false;
};

/* What to import: a handle and its kind. Moved, not copied.
 *
 * A file descriptor is owned by the source. ExternalMemory::import_from() takes it out where it succeeds, and
 * leaves it in where it fails: then the same source may be tried again, or take_fd() gives the descriptor back.
 * Handles of Windows stay the caller's in either case. */
class ExternalMemorySource {
  public:
    // A Linux descriptor of Vulkan's (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT), or of memory of
    // cuMemCreate's that was exported.
    static ExternalMemorySource opaque_fd(UniqueFd fd,
                                          const ExternalMemoryOptions &options = {}) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, static_cast<UniqueFd &&>(fd), options};
    }
    // A Linux dma-buf. Since CUDA 13.0; on Jetson Thor and later only, others answer
    // not_supported_by_device. Cannot be mapped as a mipmapped array.
    static ExternalMemorySource dma_buf(UniqueFd fd) noexcept {
        return {dma_buf_type, static_cast<UniqueFd &&>(fd), {}};
    }

    // Windows: of Vulkan's.
    static ExternalMemorySource opaque_win32(Win32Handle handle,
                                             const ExternalMemoryOptions &options = {}) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32, handle, options};
    }
    // A globally shared handle of the older sort: it has no name, and does not keep the memory alive.
    static ExternalMemorySource
    opaque_win32_kmt(void *handle, const ExternalMemoryOptions &options = {}) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT, Win32Handle::handle(handle),
                options};
    }

    // Windows: of ID3D12Device::CreateSharedHandle.
    static ExternalMemorySource d3d12_heap(Win32Handle handle) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP, handle, {}};
    }
    static ExternalMemorySource d3d12_resource(Win32Handle handle) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE, handle, {.dedicated = true}};
    }
    // Windows: of IDXGIResource1::CreateSharedHandle. Since CUDA 10.2.
    static ExternalMemorySource d3d11_resource(Win32Handle handle) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE, handle, {.dedicated = true}};
    }
    // Windows: of IDXGIResource::GetSharedHandle, as opaque_win32_kmt(). Since CUDA 10.2.
    static ExternalMemorySource d3d11_resource_kmt(void *handle) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT,
                Win32Handle::handle(handle),
                {.dedicated = true}};
    }

    // An NvSciBufObj, which must outlive the import. Since CUDA 10.2; Tegra and QNX.
    static ExternalMemorySource nvscibuf(const void *object) noexcept {
        return {CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF, object};
    }

    CUexternalMemoryHandleType type() const noexcept { return type_; }
    bool dedicated() const noexcept { return dedicated_; }
    // Of the kinds that come as one; empty otherwise, and once it was imported.
    const UniqueFd &fd() const noexcept { return fd_; }
    Win32Handle win32() const noexcept { return win32_; }
    const void *nvsci_object() const noexcept { return nvsci_object_; }

    // Takes the descriptor out, and leaves the source without one.
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

namespace detail {

struct ExternalMemoryValue {
    CUexternalMemory native = nullptr;
    CUcontext context = nullptr;
    std::size_t size = 0; // bytes
};

struct ExternalBufferValue {
    CUdeviceptr native = 0;
    std::size_t size = 0; // bytes
};

struct ExternalArrayValue {
    CUmipmappedArray native = nullptr;
    CUcontext context = nullptr;
    unsigned int levels = 0;
};

} // namespace detail

/* Linear memory in an import, mapped for kernels and copies. Keeps its import alive, and is unmapped
 * (cuMemFree) before that goes. An empty buffer is valid, has a null address, and never reached CUDA.
 *
 * Work that uses it must be done when its owner goes, or release_after() says what to wait for.
 *
 * Threads: the rules of handle.hpp. Needs no current context and does not change it. */
class ExternalBuffer : public detail::Owner<detail::ExternalBufferValue> {
  public:
    ExternalBuffer() noexcept = default;

    // In bytes.
    std::size_t size() const noexcept { return value().size; }
    bool empty() const noexcept { return size() == 0; }

    // All of it; valid as long as the buffer is.
    DeviceSpan<std::byte> span() const noexcept { return {native(), size()}; }

    // All of it as elements of T. invalid_argument where it does not hold a whole number of them, or does
    // not begin where a T may lie.
    template <DeviceType T>
    Result<DeviceSpan<T>> as() const noexcept {
        CUSHIM_TRY_VOID(detail::check_elements(native(), size(), sizeof(T), alignof(T)));
        return DeviceSpan<T>(native(), size() / sizeof(T));
    }

    // As DeviceBuffer::release_after.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  private:
    friend class ExternalMemory;
    using Owner::Owner;
};

inline Text to_text(const ExternalBuffer &buffer) noexcept {
    return detail::text_of("ExternalBuffer", buffer, buffer.size());
}

/* A mipmapped array in an import: images of the other API's. Keeps its import alive, and is destroyed
 * before that goes. Work that uses it must be done when its owner goes, or release_after() says what to
 * wait for.
 *
 * Threads: the rules of handle.hpp. Needs no current context and does not change it. */
class ExternalMipmappedArray : public detail::Owner<detail::ExternalArrayValue> {
  public:
    ExternalMipmappedArray() noexcept = default;

    unsigned int levels() const noexcept { return value().levels; }

    // The array of one level, 0 being the largest; this object's, and gone with it. invalid_argument for
    // a level that it has not. cuMipmappedArrayGetLevel, since CUDA 5.0.
    CUSHIM_API Result<CUarray> level(unsigned int index) const noexcept;

    // As DeviceBuffer::release_after.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  private:
    friend class ExternalMemory;
    using Owner::Owner;
};

inline Text to_text(const ExternalMipmappedArray &array) noexcept {
    return detail::text_of("ExternalMipmappedArray", array);
}

/* An import. Keeps its context alive; everything mapped from it keeps the import alive.
 *
 * Threads: the rules of handle.hpp; const functions may run on several threads at once. Needs no current
 * context and does not change it. Since CUDA 10.0. */
class ExternalMemory : public detail::Shared<ExternalMemory, detail::ExternalMemoryValue> {
  public:
    ExternalMemory() noexcept = default;

    /* `size` is that of the whole memory object, in bytes, as the other API gave it. On success a
     * descriptor of the source is CUDA's, and the source has none any more; on failure the source is as it
     * was before, whatever the driver does with descriptors.
     *
     * Errors: invalid_argument for no bytes, and for a handle or a descriptor that is none;
     * unsupported_platform for descriptors on Windows and for Windows' handles elsewhere;
     * requires_newer_driver; not_supported_by_device; status 999 where the handle is none of the
     * kind. cuImportExternalMemory, cuDestroyExternalMemory. */
    CUSHIM_API static Result<ExternalMemory>
    import_from(const Context &context, ExternalMemorySource &&source, std::size_t size) noexcept;

    // Takes over an import of that context, of that many bytes. invalid_argument for none, and for a null handle.
    CUSHIM_API static Result<ExternalMemory> adopt(const Context &context, CUexternalMemory memory,
                                                   std::size_t size) noexcept;
    // Does not own: the lender keeps it, and its context, alive, longer than what is mapped from it.
    CUSHIM_API static ExternalMemory borrow(const Context &context, CUexternalMemory memory,
                                            std::size_t size) noexcept;

    // In bytes, as it was imported.
    std::size_t size() const noexcept { return value().size; }

    /* Maps `size` bytes from `offset` on. Buffers may overlap. Nothing is mapped for no bytes: an
     * empty buffer. Errors: invalid_argument with the numbers where they are not in the import; what the
     * driver says where the memory is smaller than the import was told.
     * cuExternalMemoryGetMappedBuffer, cuMemFree_v2. */
    CUSHIM_API Result<ExternalBuffer> map_buffer(std::size_t offset,
                                                 std::size_t size) const noexcept;

    /* Maps an image of that many levels, which begins at `offset`. The description must be that of the
     * other API's image: CUDA cannot check it. `offset` is in bytes.
     * Errors: invalid_argument with the numbers for an image that begins past the end of the import, has no
     * levels or no width; what the driver says of the description.
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
