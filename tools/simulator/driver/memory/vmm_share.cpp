// Export and import of physical memory and multicast objects: cuMemExportToShareableHandle,
// cuMemImportFromShareableHandle.
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "engine/open_calls.hpp"
#include "memory/virtual_memory.hpp"

#include <cstring>
#include <optional>

namespace sim {
namespace {

// A descriptor as the API passes it: on POSIX a number in a pointer, on Windows a handle.
platform::File duplicate_of_client(void *os_handle) {
#ifdef _WIN32
    const auto number = reinterpret_cast<std::intptr_t>(os_handle);
#else
    const auto number = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
#endif
    platform::File borrowed = platform::File::adopt(number);
    platform::File own = borrowed.duplicate();
    borrowed.release(); // the client keeps it
    return own;
}

// The trailer, if the file is physical memory.
std::optional<PhysicalMemoryTrailer> read_trailer(const platform::File &file) {
    const std::size_t bytes = platform::map_granularity();
    const std::size_t whole = file.size();
    if (whole <= bytes || whole % bytes != 0 || file.can_shrink()) {
        return std::nullopt;
    }
    std::byte *view = file.map(whole - bytes, bytes);
    if (view == nullptr) {
        return std::nullopt;
    }
    PhysicalMemoryTrailer trailer;
    std::memcpy(&trailer, view, sizeof trailer);
    platform::unmap(view, bytes);
    const bool good =
        trailer.magic == PhysicalMemoryTrailer::own_magic && trailer.size == whole - bytes;
    return good ? std::optional(trailer) : std::nullopt;
}

CUmemAllocationProp properties_of(const PhysicalMemoryTrailer &trailer) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(trailer.handle_types);
    properties.location.type = static_cast<CUmemLocationType>(trailer.location);
    properties.location.id = trailer.device;
    return properties;
}

PhysicalMemory *import_memory(platform::File file) {
    const auto trailer = read_trailer(file);
    require(trailer.has_value(), CUDA_ERROR_UNKNOWN);
    const bool on_device = trailer->location == location::device;
    require(!on_device || (trailer->device >= 0 && trailer->device < device_count()),
            CUDA_ERROR_NOT_SUPPORTED);
    auto backing = Backing::of_file(std::move(file), 0, trailer->size,
                                    on_device ? trailer->device : Mapping::host_access);
    return Registry::get().make<PhysicalMemory>(properties_of(*trailer), std::move(backing));
}

unsigned int exportable_types(const PhysicalMemory &memory) {
    return memory.multicast() ? static_cast<unsigned int>(memory.team->handle_types)
                              : static_cast<unsigned int>(memory.properties.requestedHandleTypes);
}

void give_to_client(void *output, platform::File file) {
#ifdef _WIN32
    const auto handle = reinterpret_cast<void *>(file.release());
#else
    const int handle = static_cast<int>(file.release());
    note_export(handle);
#endif
    std::memcpy(output, &handle, sizeof handle);
}

} // namespace

std::size_t physical_memory_size(const platform::File &file) {
    const auto trailer = read_trailer(file);
    return trailer ? static_cast<std::size_t>(trailer->size) : 0;
}

namespace driver {

EXPORT CUresult cuMemExportToShareableHandle(void *shareableHandle,
                                             CUmemGenericAllocationHandle handle,
                                             CUmemAllocationHandleType handleType,
                                             unsigned long long flags) {
    const PhysicalMemory &memory = physical_memory(handle);
    const auto type = static_cast<unsigned int>(handleType);
    require(shareableHandle != nullptr, "Parameter shareableHandle cannot be NULL");
    require(flags == 0, "Parameter flags must be 0");
    require(type == handle_type::native && (exportable_types(memory) & type) != 0,
            "Allocation not configured for sharing with requested handleType");
    const platform::File &file = memory.multicast() ? memory.team.file() : memory.backing->file();
    platform::File copy = file.duplicate();
    require(copy.valid(), CUDA_ERROR_OUT_OF_MEMORY);
    give_to_client(shareableHandle, std::move(copy));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemImportFromShareableHandle(OUT CUmemGenericAllocationHandle *handle,
                                               void *osHandle,
                                               CUmemAllocationHandleType shHandleType) {
    require(handle != nullptr);
    const auto type = static_cast<unsigned int>(shHandleType);
    check_imported(osHandle, type);
    platform::File file = duplicate_of_client(osHandle);
    require(file.valid(), CUDA_ERROR_UNKNOWN);
    if (auto team = Shared<MulticastTeam>::open(file.duplicate())) {
        *handle = Registry::get().make<PhysicalMemory>(std::move(team))->handle();
    } else {
        *handle = import_memory(std::move(file))->handle();
    }
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
