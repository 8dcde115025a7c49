/* Physical memory without an address: created once, mapped anywhere (virtual_memory.hpp), exported
 * to other processes. */
#ifndef CUSHIM_PHYSICAL_MEMORY_HPP
#define CUSHIM_PHYSICAL_MEMORY_HPP

#include <cushim/detail/owner_values.hpp>
#include <cushim/device.hpp>
#include <cushim/export_kinds.hpp>
#include <cushim/handle.hpp>
#include <cushim/unique_fd.hpp>

namespace cushim {

// The properties of new physical memory. The default is device memory that cannot be exported.
struct PhysicalMemoryOptions {
    // -1: memory of the device. Otherwise memory of the host, on this NUMA node; 0 if the host has
    // no NUMA nodes. Requires CUDA 12.2.
    int host_numa_node = -1;
    // How other processes can import the memory.
    ExportKinds exportable;
    // The device may compress the memory. CUDA may return ordinary memory: see properties().
    bool compressible = false;
    // Other PCI devices may read and write it (GPUDirect RDMA).
    bool gpu_direct_rdma = false;
    // CU_MEM_CREATE_USAGE_..., for example a tile pool.
    unsigned short usage = 0;
    // Only with exportable.win32, which requires it: the POBJECT_ATTRIBUTES of exported handles.
    void *win32_attributes = nullptr;
};

// The properties that CUDA reports.
struct PhysicalMemoryProperties {
    // The CUdevice whose memory it is; -1 for memory of the host.
    CUdevice device = -1;
    // As passed to create(), except for what CUDA has changed.
    PhysicalMemoryOptions options;
};

/* The units in which physical memory is created and mapped, in bytes. They depend on the options:
 * pass those of the memory.
 *
 * Errors: not_supported_by_device, and those of PhysicalMemory::create() for the options. */
struct Granularity {
    // Sizes of physical memory, and offsets in a range, must be multiples of this.
    std::size_t minimum = 0;
    // Multiples of this perform best; never less than the minimum.
    std::size_t recommended = 0;

    // The granularity of memory with these options. cuMemGetAllocationGranularity.
    CUSHIM_API static Result<Granularity> of(Device device,
                                             const PhysicalMemoryOptions &options = {}) noexcept;

    // Rounds up to the next multiple of `minimum` or `recommended`, 0 to 0. invalid_argument if the
    // result is too large, or if this object is default-constructed.
    CUSHIM_API Result<std::size_t> round_up(std::size_t size) const noexcept;
    CUSHIM_API Result<std::size_t> round_up_recommended(std::size_t size) const noexcept;
};

/* Physical memory: a size and a location on a device or the host, without an address. It is freed
 * once its last owner is destroyed and it is no longer mapped.
 *
 * Errors: not_supported_by_device if the device has no virtual memory management, or lacks an
 * option; unsupported_platform for handles of another operating system; requires_newer_driver;
 * out_of_memory; invalid_argument. */
class PhysicalMemory : public detail::Shared<PhysicalMemory, detail::Physical> {
  public:
    PhysicalMemory() noexcept = default;

    // Creates `size` bytes; the size must be a multiple of the granularity of the options
    // (Granularity::round_up) and not 0, or the call fails with invalid_argument.
    // With exportable.fabric, not_permitted if this process is not part of a fabric, even if the
    // device's attribute says otherwise. cuMemCreate, cuMemRelease, cuMemGetAllocationGranularity.
    CUSHIM_API static Result<PhysicalMemory>
    create(Device device, std::size_t size, const PhysicalMemoryOptions &options = {}) noexcept;

    // Whether memory that is exportable to the fabric can be created. The device's attribute does
    // not say so: this function creates and frees such memory. False if that fails with
    // not_permitted or not_supported_by_device. cuMemGetAllocationGranularity, cuMemCreate,
    // cuMemRelease, since CUDA 12.3.
    CUSHIM_API static Result<bool> fabric_works(Device device) noexcept;

    // Owns memory of `size` bytes; the size must not be 0. cuMemRelease.
    CUSHIM_API static Result<PhysicalMemory> adopt(CUmemGenericAllocationHandle handle,
                                                   std::size_t size) noexcept;
    // Does not own; the lender must keep the memory alive.
    static PhysicalMemory borrow(CUmemGenericAllocationHandle handle, std::size_t size) noexcept {
        return {{handle, size, 0}, nullptr};
    }

    /* Another owner of the memory that is mapped at this address, by any code. Some device must
     * have access to it. If the driver does not know the size, the first form fails with
     * CUDA_ERROR_INVALID_VALUE (1): pass the size to the second form. cuMemRetainAllocationHandle,
     * cuPointerGetAttribute (the mapping's size: CUDA 11.8). */
    CUSHIM_API static Result<PhysicalMemory> retain_from(CUdeviceptr address) noexcept;
    CUSHIM_API static Result<PhysicalMemory> retain_from(CUdeviceptr address,
                                                         std::size_t size) noexcept;

    // The size in bytes.
    std::size_t size() const noexcept { return value().size; }

    // Where the memory is, and its options. cuMemGetAllocationPropertiesFromHandle.
    CUSHIM_API Result<PhysicalMemoryProperties> properties() const noexcept;

    /* Export the memory to another process. Each call returns a new handle, which keeps the memory
     * alive. CUDA_ERROR_INVALID_VALUE (1) unless the memory was created exportable in that way.
     * cuMemExportToShareableHandle. */
    CUSHIM_API Result<UniqueFd> export_fd() const noexcept;
    // Windows: exports a HANDLE, which the caller must close with CloseHandle.
    CUSHIM_API Result<void *> export_win32() const noexcept;
    // Exports to a fabric. Since CUDA 12.3.
    CUSHIM_API Result<FabricHandle> export_fabric() const noexcept;

    /* Import memory that another process, or this one, exported. The caller keeps the descriptor or
     * handle, and may close it afterwards. The exporter must send the size; CUDA does not report
     * it. A size of 0 is invalid_argument; with a descriptor, so is a size that is not a multiple
     * of the granularity. With any other wrong size, MappedRange::map() fails with
     * not_supported_by_device.
     * cuMemImportFromShareableHandle, cuMemGetAllocationPropertiesFromHandle,
     * cuMemGetAllocationGranularity. */
    CUSHIM_API static Result<PhysicalMemory> import_fd(int descriptor, std::size_t size) noexcept;
    CUSHIM_API static Result<PhysicalMemory> import_win32(void *handle, std::size_t size) noexcept;
    // Imports from a fabric. Since CUDA 12.3.
    CUSHIM_API static Result<PhysicalMemory> import_fabric(const FabricHandle &handle,
                                                           std::size_t size) noexcept;

  private:
    friend class MappedRange;
    using Shared::Shared;
};

inline Text to_text(const PhysicalMemory &memory) noexcept {
    return detail::text_of("PhysicalMemory", memory, memory.size());
}

} // namespace cushim

#endif
