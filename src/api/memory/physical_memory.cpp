#include <cushim/physical_memory.hpp>

#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/in_context.hpp"
#include "context/requirements.hpp"
#include "exporting.hpp"
#include "memory_state.hpp"

namespace cushim {

using namespace detail;

namespace {

struct PhysicalState final : State {
    PhysicalState() noexcept : State(InCapture::safe) {}

    Destroyed destroy() noexcept override { return {call<entry::cuMemRelease>(handle), handle}; }
    CUmemGenericAllocationHandle handle = 0;
};

constexpr const char *empty = "the PhysicalMemory is empty";

// Numbers that older headers do not name.
constexpr auto location_host_numa = static_cast<CUmemLocationType>(3);
constexpr auto attribute_mapping_size = static_cast<CUpointer_attribute>(18);
constexpr auto attribute_fabric = static_cast<CUdevice_attribute>(128);

Result<void> check_exports(Device device, const PhysicalMemoryOptions &options) noexcept {
    const ExportKinds &kinds = options.exportable;
    CUSHIM_TRY_VOID(
        detail::check_exports(kinds, options.win32_attributes, "PhysicalMemoryOptions"));
    if (kinds.posix_fd) {
        CUSHIM_TRY_VOID(require_attribute(
            device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
            "cannot export memory as file descriptors; clear exportable.posix_fd"));
    }
    if (kinds.win32) {
        CUSHIM_TRY_VOID(
            require_attribute(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED,
                              "cannot export memory as NT handles; clear exportable.win32"));
    }
    if (kinds.fabric) {
        CUSHIM_TRY_VOID(require_attribute(
            device, attribute_fabric, "cannot export memory to a fabric; clear exportable.fabric"));
    }
    return {};
}

// Checks that CUDA would fail without a reason.
Result<void> check(Device device, const PhysicalMemoryOptions &options) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(require_virtual_memory(device));
    if (options.host_numa_node >= 0) {
        CUSHIM_TRY_VOID(require_feature(Feature::host_numa_memory));
    }
    if (options.compressible) {
        CUSHIM_TRY_VOID(
            require_attribute(device, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED,
                              "does not support compressible memory; clear compressible"));
    }
    if (options.gpu_direct_rdma) {
        CUSHIM_TRY_VOID(require_attribute(
            device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
            "does not support GPUDirect RDMA with virtual memory management; clear "
            "gpu_direct_rdma"));
    }
    return check_exports(device, options);
}

CUmemAllocationProp native(Device device, const PhysicalMemoryOptions &options) noexcept {
    const bool on_host = options.host_numa_node >= 0;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = on_host ? location_host_numa : CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = on_host ? options.host_numa_node : device.native();
    properties.requestedHandleTypes = detail::native(options.exportable);
    properties.win32HandleMetaData = options.win32_attributes;
    properties.allocFlags.compressionType =
        options.compressible ? CU_MEM_ALLOCATION_COMP_GENERIC : CU_MEM_ALLOCATION_COMP_NONE;
    properties.allocFlags.gpuDirectRDMACapable = options.gpu_direct_rdma ? 1 : 0;
    properties.allocFlags.usage = options.usage;
    return properties;
}

PhysicalMemoryProperties from_native(const CUmemAllocationProp &native) noexcept {
    const auto kinds = static_cast<unsigned int>(native.requestedHandleTypes);
    PhysicalMemoryProperties properties;
    if (native.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        properties.device = native.location.id;
    } else if (native.location.type == location_host_numa) {
        properties.options.host_numa_node = native.location.id;
    }
    properties.options.exportable = {
        .posix_fd = (kinds & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0,
        .win32 = (kinds & CU_MEM_HANDLE_TYPE_WIN32) != 0,
        .fabric = (kinds & static_cast<unsigned int>(handle_type_fabric)) != 0,
    };
    properties.options.compressible =
        native.allocFlags.compressionType != CU_MEM_ALLOCATION_COMP_NONE;
    properties.options.gpu_direct_rdma = native.allocFlags.gpuDirectRDMACapable != 0;
    properties.options.usage = native.allocFlags.usage;
    properties.options.win32_attributes = native.win32HandleMetaData;
    return properties;
}

Result<std::size_t> granularity(const CUmemAllocationProp &properties,
                                CUmemAllocationGranularity_flags which) noexcept {
    std::size_t bytes = 0;
    CUSHIM_TRY_VOID(call<entry::cuMemGetAllocationGranularity>(&bytes, &properties, which));
    return bytes;
}

Result<void> check_size(std::size_t size, std::size_t granularity) noexcept {
    if (size == 0 || granularity == 0 || size % granularity != 0) {
        return invalid_argument(
            "size %zu is not a positive multiple of the granularity of %zu bytes; use "
            "Granularity::round_up()",
            size, granularity);
    }
    return {};
}

Result<std::size_t> round_up_to(std::size_t multiple, std::size_t size) noexcept {
    if (multiple == 0) {
        return Error::invalid_argument("the granularity is 0; query it with Granularity::of()");
    }
    const std::size_t rest = size % multiple;
    if (rest == 0) {
        return size;
    }
    if (sum_overflows(size, multiple - rest)) {
        return invalid_argument(
            "size %zu, rounded up to a multiple of %zu bytes, exceeds the address space", size,
            multiple);
    }
    return size + (multiple - rest);
}

Result<CUmemAllocationProp> properties_of(CUmemGenericAllocationHandle handle) noexcept {
    CUmemAllocationProp properties{};
    CUSHIM_TRY_VOID(call<entry::cuMemGetAllocationPropertiesFromHandle>(&properties, handle));
    return properties;
}

// For memory that other code created: queries its granularity and checks its size. Not for memory
// that may be on a device of another machine.
Result<PhysicalMemory> known(PhysicalMemory &&memory) noexcept {
    CUSHIM_TRY(const CUmemAllocationProp properties, properties_of(memory.native()));
    CUSHIM_TRY(const std::size_t unit, granularity(properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUSHIM_TRY_VOID(check_size(memory.size(), unit));
    const Physical value{memory.native(), memory.size(), unit};
    Access::set(memory, value, Access::state(memory));
    return static_cast<PhysicalMemory &&>(memory);
}

Result<PhysicalMemory> import_handle(void *handle, CUmemAllocationHandleType type,
                                     std::size_t size) noexcept {
    if (size == 0) {
        return Error::invalid_argument("the size is 0");
    }
    CUmemGenericAllocationHandle imported = 0;
    CUSHIM_TRY(auto state, make_state<PhysicalState>());
    CUSHIM_TRY_VOID(detail::imported(
        call<entry::cuMemImportFromShareableHandle>(&imported, handle, type), type));
    state->handle = imported;
    PhysicalMemory memory;
    Access::set(memory, {imported, size, 0}, state.take());
    return memory;
}

constexpr Exported exported{empty, "memory", "PhysicalMemoryOptions"};
using Export = entry::cuMemExportToShareableHandle;

} // namespace

Result<Granularity> Granularity::of(Device device, const PhysicalMemoryOptions &options) noexcept {
    return named("Granularity::of", [&]() -> Result<Granularity> {
        CUSHIM_TRY_VOID(check(device, options));
        const CUmemAllocationProp properties = native(device, options);
        Granularity both;
        CUSHIM_TRY(both.minimum, granularity(properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        CUSHIM_TRY(both.recommended, granularity(properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
        return both;
    });
}

Result<std::size_t> Granularity::round_up(std::size_t size) const noexcept {
    return named("Granularity::round_up", round_up_to(minimum, size));
}

Result<std::size_t> Granularity::round_up_recommended(std::size_t size) const noexcept {
    return named("Granularity::round_up_recommended", round_up_to(recommended, size));
}

Result<PhysicalMemory> PhysicalMemory::create(Device device, std::size_t size,
                                              const PhysicalMemoryOptions &options) noexcept {
    return named("PhysicalMemory::create", [&]() -> Result<PhysicalMemory> {
        CUSHIM_TRY_VOID(check(device, options));
        const CUmemAllocationProp properties = ::cushim::native(device, options);
        CUSHIM_TRY(const std::size_t unit,
                   granularity(properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        CUSHIM_TRY_VOID(check_size(size, unit));
        CUSHIM_TRY(auto state, make_state<PhysicalState>());
        if (options.host_numa_node < 0) {
            state->device_ordinal = device.native();
        }
        CUmemGenericAllocationHandle handle = 0;
        const auto available = [&] {
            return options.host_numa_node < 0 ? available_on(device) : unknown();
        };
        CUSHIM_TRY_VOID(
            allocating_call<entry::cuMemCreate>(size, available, &handle, size, &properties, 0));
        state->handle = handle;
        return PhysicalMemory({handle, size, unit}, state.take());
    });
}

Result<bool> PhysicalMemory::fabric_works(Device device) noexcept {
    return named("PhysicalMemory::fabric_works", [&]() -> Result<bool> {
        PhysicalMemoryOptions options;
        options.exportable.fabric = true;
        const auto refused = [](const Error &error) {
            return error.kind() == ErrorKind::not_permitted ||
                   error.kind() == ErrorKind::not_supported_by_device;
        };
        const Result<Granularity> unit = Granularity::of(device, options);
        if (!unit) {
            return refused(unit.error()) ? Result<bool>(false) : Result<bool>(unit.error());
        }
        Result<PhysicalMemory> memory = create(device, unit->minimum, options);
        if (!memory) {
            return refused(memory.error()) ? Result<bool>(false) : Result<bool>(memory.error());
        }
        CUSHIM_TRY_VOID(memory->close());
        return true;
    });
}

Result<PhysicalMemory> PhysicalMemory::adopt(CUmemGenericAllocationHandle handle,
                                             std::size_t size) noexcept {
    return named("PhysicalMemory::adopt", [&]() -> Result<PhysicalMemory> {
        CUSHIM_TRY_VOID(require_handle_of(handle, size));
        CUSHIM_TRY(auto state, make_state<PhysicalState>());
        state->handle = handle;
        return PhysicalMemory({handle, size, 0}, state.take());
    });
}

Result<PhysicalMemory> PhysicalMemory::retain_from(CUdeviceptr address) noexcept {
    return named("PhysicalMemory::retain_from", [&]() -> Result<PhysicalMemory> {
        CUSHIM_TRY_VOID(init());
        // The attribute RANGE_SIZE would be the size of the whole reservation.
        std::size_t size = 0;
        CUSHIM_TRY_VOID(explained(
            call<entry::cuPointerGetAttribute>(&size, attribute_mapping_size, address),
            CUDA_ERROR_INVALID_VALUE,
            "address %#llx is not in a mapping, or the driver does not know its size; if it is "
            "mapped, pass the size",
            static_cast<unsigned long long>(address)));
        return retain_from(address, size);
    });
}

Result<PhysicalMemory> PhysicalMemory::retain_from(CUdeviceptr address, std::size_t size) noexcept {
    return named("PhysicalMemory::retain_from", [&]() -> Result<PhysicalMemory> {
        CUSHIM_TRY_VOID(init());
        CUSHIM_TRY(auto state, make_state<PhysicalState>());
        CUmemGenericAllocationHandle handle = 0;
        CUSHIM_TRY_VOID(explained(
            call<entry::cuMemRetainAllocationHandle>(&handle, reinterpret_cast<void *>(address)),
            CUDA_ERROR_INVALID_VALUE, "address %#llx is not in a mapping that a device can access",
            static_cast<unsigned long long>(address)));
        state->handle = handle;
        return known(PhysicalMemory({handle, size, 0}, state.take()));
    });
}

Result<PhysicalMemoryProperties> PhysicalMemory::properties() const noexcept {
    return named("PhysicalMemory::properties", [&]() -> Result<PhysicalMemoryProperties> {
        CUSHIM_TRY_VOID(require(*this, empty));
        return properties_of(native()).transform(from_native);
    });
}

Result<UniqueFd> PhysicalMemory::export_fd() const noexcept {
    return named("PhysicalMemory::export_fd", detail::export_fd<Export>(*this, exported));
}

Result<void *> PhysicalMemory::export_win32() const noexcept {
    return named("PhysicalMemory::export_win32", detail::export_win32<Export>(*this, exported));
}

Result<FabricHandle> PhysicalMemory::export_fabric() const noexcept {
    return named("PhysicalMemory::export_fabric", detail::export_fabric<Export>(*this, exported));
}

Result<PhysicalMemory> PhysicalMemory::import_fd(int descriptor, std::size_t size) noexcept {
    return named("PhysicalMemory::import_fd", [&]() -> Result<PhysicalMemory> {
        CUSHIM_TRY(void *const importable, importable(descriptor));
        return import_handle(importable, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, size)
            .and_then(known);
    });
}

Result<PhysicalMemory> PhysicalMemory::import_win32(void *handle, std::size_t size) noexcept {
    return named("PhysicalMemory::import_win32", [&]() -> Result<PhysicalMemory> {
        CUSHIM_TRY(void *const importable, importable(handle));
        return import_handle(importable, CU_MEM_HANDLE_TYPE_WIN32, size);
    });
}

Result<PhysicalMemory> PhysicalMemory::import_fabric(const FabricHandle &handle,
                                                     std::size_t size) noexcept {
    return named("PhysicalMemory::import_fabric", [&]() -> Result<PhysicalMemory> {
        FabricHandle copy = handle;
        CUSHIM_TRY(void *const importable, importable(copy));
        return import_handle(importable, handle_type_fabric, size);
    });
}

} // namespace cushim
