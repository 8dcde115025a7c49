// Devices: their number, handles and properties.
#include "base/refusal.hpp"
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "kernel/texture.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>

namespace sim::driver {
namespace {

// Copies as much of the text as fits, always NUL-terminated.
void copy_text(char *target, int length, const std::string &text) {
    require(target != nullptr && length > 0);
    const auto count = std::min(text.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(target, text.data(), count);
    target[count] = '\0';
}

std::string pci_bus_id(const Device &device) {
    char text[16];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", 0, device.place, pci_device);
    return text;
}

CUdevice device_on_bus(unsigned int bus) {
    for (CUdevice candidate = 0; candidate < device_count(); ++candidate) {
        if (static_cast<unsigned int>(device(candidate).place) == bus) {
            return candidate;
        }
    }
    refuse(CUDA_ERROR_INVALID_DEVICE);
}

int attribute(CUdevice dev, CUdevice_attribute which) {
    return device_attribute(dev, which);
}

} // namespace

EXPORT CUresult cuDeviceGet(OUT CUdevice *device, int ordinal) {
    require(device != nullptr);
    sim::device(ordinal, "ordinal");
    *device = ordinal;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(OUT int *count) {
    require(count != nullptr);
    *count = device_count();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int len, CUdevice dev) {
    copy_text(name, len < 0 ? INT_MAX : len, device_name(dev)); // recorded
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(OUT CUuuid *uuid, CUdevice dev) {
    const int place = device(dev).place;
    require(uuid != nullptr);
    write_uuid(place, uuid->bytes);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(OUT size_t *bytes, CUdevice dev) {
    device(dev);
    require(bytes != nullptr);
    *bytes = device_memory(dev);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(OUT int *pi, CUdevice_attribute attrib, CUdevice dev) {
    device(dev, "dev");
    require(pi != nullptr);
    try {
        *pi = device_attribute(dev, attrib);
    } catch (const Refusal &) {
        explain("Invalid device attribute enum value");
        throw;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceComputeCapability(OUT int *major, OUT int *minor, CUdevice dev) {
    device(dev, "dev");
    require(major != nullptr && minor != nullptr);
    *major = device_capability(dev).major;
    *minor = device_capability(dev).minor;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetProperties(OUT CUdevprop *prop, CUdevice dev) {
    device(dev);
    require(prop != nullptr);
    prop->maxThreadsPerBlock = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    prop->maxThreadsDim[0] = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    prop->maxThreadsDim[1] = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    prop->maxThreadsDim[2] = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    prop->maxGridSize[0] = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    prop->maxGridSize[1] = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    prop->maxGridSize[2] = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    prop->sharedMemPerBlock = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    prop->totalConstantMemory = attribute(dev, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    prop->SIMDWidth = attribute(dev, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    prop->memPitch = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    prop->regsPerBlock = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    prop->clockRate = attribute(dev, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    prop->textureAlign = attribute(dev, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev) {
    const std::string id = pci_bus_id(device(dev));
    require(len > static_cast<int>(id.size())); // unlike a name, it is never truncated
    copy_text(pciBusId, len, id);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetByPCIBusId(OUT CUdevice *dev, const char *pciBusId) {
    require(dev != nullptr && pciBusId != nullptr);
    unsigned int domain = 0, bus = 0, slot = 0, function = 0;
    const bool full = std::sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &slot, &function) >= 3;
    if (!full) {
        domain = 0;
        require(std::sscanf(pciBusId, "%x:%x.%x", &bus, &slot, &function) >= 2);
    }
    require(domain == 0 && slot == pci_device && function == 0, CUDA_ERROR_INVALID_DEVICE);
    *dev = device_on_bus(bus);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetTexture1DLinearMaxWidth(OUT size_t *maxWidthInElements,
                                                   CUarray_format format, unsigned numChannels,
                                                   CUdevice dev) {
    device(dev, "dev");
    require(maxWidthInElements != nullptr && format != 0);
    *maxWidthInElements = most_linear_elements(dev, linear_element(format, numChannels));
    return CUDA_SUCCESS;
}

// Recorded: the type is not checked.
EXPORT CUresult cuDeviceGetExecAffinitySupport(OUT int *pi, CUexecAffinityType, CUdevice dev) {
    device(dev);
    require(pi != nullptr);
    *pi = 0; // supported only under MPS
    return CUDA_SUCCESS;
}

} // namespace sim::driver
