/* Physical memory without an address: made once, mapped where it is wanted (virtual_memory.hpp), and
 * handed to other processes. */
#ifndef CUSHIM_PHYSICAL_MEMORY_HPP
#define CUSHIM_PHYSICAL_MEMORY_HPP

#include <cushim/device.hpp>
#include <cushim/export_kinds.hpp>
#include <cushim/handle.hpp>
#include <cushim/unique_fd.hpp>

namespace cushim {

// How physical memory is made. By default: memory of the device that stays in the process.
struct PhysicalMemoryOptions {
    // -1: the device's own memory. From 0 on: the host's, on this NUMA node; 0 where the host has
    // none. CUDA 12.2.
    int host_numa_node = -1;
    ExportKinds exportable;
    // Memory that the device compresses. CUDA may give ordinary memory all the same: ask properties().
    bool compressible = false;
    // Other PCI devices may read and write it (GPUDirect RDMA).
    bool gpu_direct_rdma = false;
    // CU_MEM_CREATE_USAGE_...: a tile pool, say.
    unsigned short usage = 0;
    // With exportable.win32, and only then: the POBJECT_ATTRIBUTES of the handles that are exported.
    void *win32_attributes = nullptr;
};

struct PhysicalMemoryProperties {
    // -1 for memory of the host.
    CUdevice device = -1;
    // As create() takes them; CUDA sets those that it knows better.
    PhysicalMemoryOptions options;
};

/* In bytes: in what units physical memory is made and mapped. It differs with the options, so ask
 * with those that the memory will be made with.
 *
 * Errors: not_supported_by_device, and those of PhysicalMemory::create() for its options. */
struct Granularity {
    // Sizes of physical memory, and offsets in a range, are multiples of this.
    std::size_t minimum = 0;
    // Multiples of this perform best; never less than the minimum.
    std::size_t recommended = 0;

    // cuMemGetAllocationGranularity.
    CUSHIM_API static Result<Granularity> of(Device device,
                                             const PhysicalMemoryOptions &options = {}) noexcept;

    // To the next multiple, 0 to 0. invalid_argument with the numbers where that is too large, or
    // where this was not asked for.
    CUSHIM_API Result<std::size_t> round_up(std::size_t size) const noexcept;
    CUSHIM_API Result<std::size_t> round_up_recommended(std::size_t size) const noexcept;
};

namespace detail {

struct Physical {
    CUmemGenericAllocationHandle native = 0;
    std::size_t size = 0;
    std::size_t granularity = 0; // 0: not known
};

} // namespace detail

/* Physical memory: a size, and a place on a device or on the host, but no address. It stays there
 * until its last owner is gone and it is mapped nowhere any more, whichever is later.
 *
 * Threads: the rules of handle.hpp. Neither needs nor changes a current context.
 * Errors: not_supported_by_device where the device has no virtual memory management, or lacks what
 * an option asks for; unsupported_platform for handles of the other operating system;
 * requires_newer_driver; out_of_memory; invalid_argument.
 * Since CUDA 10.2 where nothing else is said. */
class PhysicalMemory : public detail::Shared<PhysicalMemory, detail::Physical> {
  public:
    PhysicalMemory() noexcept = default;

    // `size` bytes, a multiple of the options' granularity (Granularity::round_up) and not 0, else
    // invalid_argument with the numbers. With exportable.fabric kind not_permitted where this process
    // has no part in a fabric, whatever the device's attribute says.
    // cuMemCreate, cuMemRelease, cuMemGetAllocationGranularity.
    CUSHIM_API static Result<PhysicalMemory>
    create(Device device, std::size_t size, const PhysicalMemoryOptions &options = {}) noexcept;

    // Whether memory that is exportable to the fabric can be made here and now. Makes some, since
    // the device's attribute alone proves nothing: false where that is refused with kind not_permitted or
    // not_supported_by_device. cuMemGetAllocationGranularity, cuMemCreate, cuMemRelease; since CUDA 12.3.
    CUSHIM_API static Result<bool> fabric_works(Device device) noexcept;

    // Takes over memory of `size` bytes, which are not 0; cuMemRelease when the last owner goes.
    CUSHIM_API static Result<PhysicalMemory> adopt(CUmemGenericAllocationHandle handle,
                                                   std::size_t size) noexcept;
    // Does not own: the lender keeps it.
    CUSHIM_API static PhysicalMemory borrow(CUmemGenericAllocationHandle handle,
                                            std::size_t size) noexcept;

    /* The memory that is mapped at this address, whoever mapped it; another owner of it. It must be
     * accessible to some device. A driver that cannot tell how large it is answers status 1: the
     * second form is for those who know.
     * cuMemRetainAllocationHandle (CUDA 11.0), cuPointerGetAttribute (of the mapping's size: CUDA 11.8
     * has it). */
    CUSHIM_API static Result<PhysicalMemory> retain_from(CUdeviceptr address) noexcept;
    CUSHIM_API static Result<PhysicalMemory> retain_from(CUdeviceptr address,
                                                         std::size_t size) noexcept;

    // In bytes.
    std::size_t size() const noexcept { return value().size; }

    // cuMemGetAllocationPropertiesFromHandle.
    CUSHIM_API Result<PhysicalMemoryProperties> properties() const noexcept;

    /* For other processes; each call gives another handle of the same memory, which it keeps alive.
     * The memory must have been made exportable in that way, else CUDA answers status 1.
     * cuMemExportToShareableHandle. */
    CUSHIM_API Result<UniqueFd> export_fd() const noexcept;
    // A HANDLE, which the caller gives to CloseHandle.
    CUSHIM_API Result<void *> export_win32() const noexcept;
    // Since CUDA 12.3.
    CUSHIM_API Result<FabricHandle> export_fabric() const noexcept;

    /* The memory behind what another process, or this one, exported. The descriptor or handle stays
     * the caller's, who may close it then. CUDA does not tell how large the memory is: the exporter
     * must. A size of 0 is invalid_argument, and with a descriptor one that is no multiple of the
     * granularity; with another wrong one the memory cannot be mapped (kind not_supported_by_device).
     * cuMemImportFromShareableHandle, cuMemGetAllocationPropertiesFromHandle,
     * cuMemGetAllocationGranularity. */
    CUSHIM_API static Result<PhysicalMemory> import_fd(int descriptor, std::size_t size) noexcept;
    CUSHIM_API static Result<PhysicalMemory> import_win32(void *handle, std::size_t size) noexcept;
    // Since CUDA 12.3.
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
