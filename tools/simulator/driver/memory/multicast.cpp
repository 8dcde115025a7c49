// Multicast objects: teams of devices, and the memory bound to them. Bookkeeping only: writes to a
// mapped multicast object would not be distributed, so copies to it fail.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <bit>
#include <climits>

#if CUDA_VERSION >= 12010

namespace sim {
namespace {

constexpr unsigned int most_devices = sizeof(std::uint32_t) * CHAR_BIT;
// MULTICAST_SUPPORTED by number: the headers of older variants lack it.
constexpr int multicast_supported = 132;

void check_properties(const CUmulticastObjectProp *properties) {
    require(properties != nullptr && properties->flags == 0);
    require(properties->numDevices != 0 && properties->numDevices <= most_devices &&
            static_cast<int>(properties->numDevices) <= device_count());
    require(properties->handleTypes <= 0xf);
}

bool any_device_supports() {
    for (int ordinal = 0; ordinal != device_count(); ++ordinal) {
        if (device_has(ordinal, multicast_supported)) {
            return true;
        }
    }
    return false;
}

PhysicalMemory &multicast_object(CUmemGenericAllocationHandle handle) {
    PhysicalMemory &object = physical_memory(handle);
    require(object.multicast());
    return object;
}

void check_part(std::size_t offset, std::size_t size, std::size_t whole) {
    const std::size_t granularity = vmm_granularity();
    require(size != 0 && offset % granularity == 0 && size % granularity == 0);
    require(offset <= whole && size <= whole - offset);
}

bool in_team(const PhysicalMemory &object, int device) {
    return device >= 0 && (object.team->devices.load() >> device & 1) != 0;
}

bool overlaps(const MulticastBinding &binding, int device, std::size_t offset, std::size_t size) {
    return binding.device == device && offset < binding.offset + binding.size &&
           binding.offset < offset + size;
}

void bind(PhysicalMemory &object, std::size_t offset, PhysicalMemory &memory, std::size_t size) {
    check_team_complete(object);
    check_part(offset, size, object.size);
    require(in_team(object, memory.device()), CUDA_ERROR_INVALID_DEVICE);
    // A multicast object that other processes may import takes only exportable memory.
    require(object.team->handle_types == 0 || memory.properties.requestedHandleTypes != 0);
    for (const MulticastBinding &binding : object.bindings) {
        require(!overlaps(binding, memory.device(), offset, size));
    }
    object.bindings.push_back({memory.device(), offset, size, memory.backing});
}

void bind_memory(CUmemGenericAllocationHandle handle, int device, std::size_t offset,
                 CUmemGenericAllocationHandle memory_handle, std::size_t memory_offset,
                 std::size_t size, unsigned long long flags) {
    PhysicalMemory &object = multicast_object(handle);
    PhysicalMemory &memory = physical_memory(memory_handle);
    require(flags == 0 && !memory.multicast());
    require(device == Mapping::host_access || device == memory.device(), CUDA_ERROR_INVALID_DEVICE);
    check_part(memory_offset, size, memory.size);
    bind(object, offset, memory, size);
}

void bind_address(CUmemGenericAllocationHandle handle, int device, std::size_t offset,
                  CUdeviceptr address, std::size_t size, unsigned long long flags) {
    PhysicalMemory &object = multicast_object(handle);
    require(flags == 0 && address % vmm_granularity() == 0);
    const Mapping *mapping = mapping_at(address);
    require(mapping != nullptr && !mapping->memory.multicast());
    require(device == Mapping::host_access || device == mapping->memory.device(),
            CUDA_ERROR_INVALID_DEVICE);
    const Range &range = reserved_range(address, size);
    check_part(address - range.base - mapping->offset, size, mapping->size);
    bind(object, offset, mapping->memory, size);
}

} // namespace

void check_team_complete(const PhysicalMemory &object) {
    const auto there = static_cast<unsigned int>(std::popcount(object.team->devices.load()));
    if (there == object.team->device_count) {
        return;
    }
    // The real driver blocks until another process or thread adds the other devices.
    misuse("use of a multicast " + object.describe() + " with only " + std::to_string(there) +
           " of " + std::to_string(object.team->device_count) +
           " devices added; the real driver waits for the others");
    refuse(CUDA_ERROR_ILLEGAL_STATE);
}

namespace driver {

EXPORT CUresult cuMulticastGetGranularity(OUT size_t *granularity,
                                          const CUmulticastObjectProp *prop,
                                          CUmulticastGranularity_flags option) {
    require(granularity != nullptr);
    check_properties(prop);
    require(option == CU_MULTICAST_GRANULARITY_MINIMUM ||
            option == CU_MULTICAST_GRANULARITY_RECOMMENDED);
    require(any_device_supports(), CUDA_ERROR_NOT_SUPPORTED);
    *granularity = vmm_granularity();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMulticastCreate(OUT CUmemGenericAllocationHandle *mcHandle,
                                  const CUmulticastObjectProp *prop) {
    require(mcHandle != nullptr);
    check_properties(prop);
    require(any_device_supports(), CUDA_ERROR_NOT_SUPPORTED);
    require(prop->size != 0 && prop->size % vmm_granularity() == 0);
    check_handle_types(static_cast<unsigned int>(prop->handleTypes));
    auto team = Shared<MulticastTeam>::create();
    require(static_cast<bool>(team), CUDA_ERROR_OUT_OF_MEMORY);
    team->size = prop->size;
    team->handle_types = prop->handleTypes;
    team->device_count = prop->numDevices;
    *mcHandle = Registry::get().make<PhysicalMemory>(std::move(team))->handle();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev) {
    PhysicalMemory &object = multicast_object(mcHandle);
    device(dev);
    require(device_has(dev, multicast_supported), CUDA_ERROR_NOT_SUPPORTED);
    require(!in_team(object, dev));
    const auto there = static_cast<unsigned int>(std::popcount(object.team->devices.load()));
    require(there < object.team->device_count);
    object.team->devices.fetch_or(std::uint32_t(1) << dev);
    Lock::changed().notify_all();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                   CUmemGenericAllocationHandle memHandle, size_t memOffset,
                                   size_t size, unsigned long long flags) {
    bind_memory(mcHandle, Mapping::host_access, mcOffset, memHandle, memOffset, size, flags);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                    CUdeviceptr memptr, size_t size, unsigned long long flags) {
    bind_address(mcHandle, Mapping::host_access, mcOffset, memptr, size, flags);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13010
EXPORT CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                      size_t mcOffset, CUmemGenericAllocationHandle memHandle,
                                      size_t memOffset, size_t size, unsigned long long flags) {
    device(dev);
    bind_memory(mcHandle, dev, mcOffset, memHandle, memOffset, size, flags);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                       size_t mcOffset, CUdeviceptr memptr, size_t size,
                                       unsigned long long flags) {
    device(dev);
    bind_address(mcHandle, dev, mcOffset, memptr, size, flags);
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                  size_t mcOffset, size_t size) {
    PhysicalMemory &object = multicast_object(mcHandle);
    device(dev);
    check_part(mcOffset, size, object.size);
    const auto same = [&](const MulticastBinding &binding) {
        return binding.device == dev && binding.offset == mcOffset && binding.size == size;
    };
    const auto found = std::find_if(object.bindings.begin(), object.bindings.end(), same);
    if (found == object.bindings.end()) {
        misuse("unbind of a range that is not bound to a multicast " + object.describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    object.bindings.erase(found);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim

#else

namespace sim {

void check_team_complete(const PhysicalMemory &) {}

} // namespace sim

#endif
