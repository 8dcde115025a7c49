// Physical memory: cuMemCreate, cuMemRelease, and properties of handles.
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "memory/virtual_memory.hpp"

#include <cstring>

namespace sim {
namespace {

void check_location(const CUmemLocation &where, unsigned int types) {
    switch (static_cast<int>(where.type)) {
    case location::device:
        device(where.id);
        require(device_has(where.id, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED),
                CUDA_ERROR_NOT_SUPPORTED);
        return;
    case location::host:
        require(types == 0);
        return;
    case location::host_numa:
        require(where.id == 0); // one node
        return;
    default:
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
}

void check_type(const CUmemAllocationProp *properties) {
    require(properties != nullptr, "Parameter prop cannot be NULL");
    require(properties->type == CU_MEM_ALLOCATION_TYPE_PINNED);
}

std::shared_ptr<Backing> host_backing(std::size_t size, std::size_t trailer) {
    require(size <= platform::host_memory(), CUDA_ERROR_OUT_OF_MEMORY);
    auto file = platform::File::create(size + trailer);
    require(file.valid(), CUDA_ERROR_OUT_OF_MEMORY);
    return Backing::of_file(std::move(file), 0, size, Mapping::host_access);
}

void write_trailer(const PhysicalMemory &memory) {
    const PhysicalMemoryTrailer trailer{
        PhysicalMemoryTrailer::own_magic,
        memory.size,
        memory.properties.location.id,
        static_cast<std::uint32_t>(memory.properties.requestedHandleTypes),
        static_cast<std::int32_t>(memory.properties.location.type),
        0};
    const std::size_t bytes = platform::map_granularity();
    std::byte *view = memory.backing->file().map(memory.size, bytes);
    require(view != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    std::memcpy(view, &trailer, sizeof trailer);
    platform::unmap(view, bytes);
}

} // namespace

std::size_t vmm_granularity() noexcept {
    const std::size_t page = platform::map_granularity();
    const std::size_t size = settings().granularity;
    return size == 0 ? page : (size + page - 1) / page * page;
}

void require_granular(std::uint64_t number, const char *what) {
    if (number % vmm_granularity() != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "%s not aligned to minimum granularity (0x%zx bytes)",
               what, vmm_granularity());
    }
}

void check_handle_types(unsigned int types, const char *reason) {
    using namespace handle_type;
    // Recorded: the driver ignores undefined bits.
    require((types & (posix_fd | win32 | win32_kmt) & ~native) == 0);
    require((types & handle_type::fabric) == 0, CUDA_ERROR_NOT_PERMITTED, reason);
}

void check_imported(const void *handle, unsigned int type) {
    using namespace handle_type;
    require(handle != nullptr);
    require(type == native || type != win32, CUDA_ERROR_NOT_SUPPORTED);
    check_handle_types(type);
    require(type == native);
}

PhysicalMemory::PhysicalMemory(const CUmemAllocationProp &what, std::shared_ptr<Backing> bytes)
    : Object(own_kind), properties(what), size(bytes->size()), backing(std::move(bytes)) {}

PhysicalMemory::PhysicalMemory(Shared<MulticastTeam> of)
    : Object(own_kind), size(of->size), team(std::move(of)) {}

int PhysicalMemory::device() const noexcept {
    const bool on_device = static_cast<int>(properties.location.type) == location::device;
    return on_device ? properties.location.id : Mapping::host_access;
}

PhysicalMemory &physical_memory(CUmemGenericAllocationHandle handle) {
    auto *pointer = reinterpret_cast<PhysicalMemory *>(static_cast<std::uintptr_t>(handle));
    PhysicalMemory &memory = checked(pointer, CUDA_ERROR_INVALID_VALUE);
    if (memory.references == 0) {
        misuse("use of a released " + memory.describe() +
               ", whose memory exists only while it is mapped");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    return memory;
}

void end_if_unused(PhysicalMemory &memory) {
    if (memory.references == 0 && memory.mappings == 0) {
        Registry::get().destroy(&memory);
    }
}

namespace driver {

EXPORT CUresult cuMemGetAllocationGranularity(OUT size_t *granularity,
                                              const CUmemAllocationProp *prop,
                                              CUmemAllocationGranularity_flags option) {
    require(granularity != nullptr, "granularity return pointer cannot be NULL");
    check_type(prop); // recorded: not the location
    require(option == CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
                option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
            "Invalid CUmemAllocationGranularity_flags option");
    *granularity = vmm_granularity();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemCreate(OUT CUmemGenericAllocationHandle *handle, size_t size,
                            const CUmemAllocationProp *prop, unsigned long long flags) {
    require(handle != nullptr);
    check_type(prop);
    check_location(prop->location, static_cast<unsigned int>(prop->requestedHandleTypes));
    require(flags == 0, "Parameter flags must be 0");
    require(size != 0, "Parameter size cannot be 0");
    require_granular(size, "Requested size");
    const auto types = static_cast<unsigned int>(prop->requestedHandleTypes);
    check_handle_types(types, "Failed to allocate physical memory");
    // Security attributes are for Windows handles only.
    require((prop->win32HandleMetaData != nullptr) == ((types & handle_type::win32) != 0));
    const bool exportable = (types & handle_type::native) != 0;
    const std::size_t trailer = exportable ? platform::map_granularity() : 0;
    const bool on_device = static_cast<int>(prop->location.type) == location::device;
    auto backing = on_device ? Backing::of_device(prop->location.id, size, exportable, trailer)
                             : host_backing(size, trailer);
    auto *memory = Registry::get().make<PhysicalMemory>(*prop, std::move(backing));
    if (exportable) {
        write_trailer(*memory);
    }
    *handle = memory->handle();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    PhysicalMemory &memory = physical_memory(handle);
    --memory.references;
    end_if_unused(memory);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemRetainAllocationHandle(OUT CUmemGenericAllocationHandle *handle, void *addr) {
    require(handle != nullptr);
    Mapping *mapping = mapping_at(reinterpret_cast<std::uintptr_t>(addr));
    if (mapping == nullptr) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Address specified(addr: %p) must have a valid mapping created with a call to "
               "cuMemMap()",
               addr);
    }
    ++mapping->memory.references;
    *handle = mapping->memory.handle();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(OUT CUmemAllocationProp *prop,
                                                       CUmemGenericAllocationHandle handle) {
    require(prop != nullptr);
    const PhysicalMemory &memory = physical_memory(handle);
    require(!memory.multicast());
    *prop = memory.properties;
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
