// Pinned host memory: allocated, or registered client memory. Devices use it by its host address.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/memory.hpp"
#include "engine/work.hpp"

namespace sim {
namespace {

constexpr unsigned int allocation_flags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned int reported_registration_flags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
constexpr unsigned int read_only = 0x08; // CU_MEMHOSTREGISTER_READ_ONLY
constexpr unsigned int registration_flags = reported_registration_flags | read_only;
// Addresses belong to no process if they are at least this large.
constexpr std::uintptr_t end_of_addresses = std::uintptr_t(1) << 57;

std::uintptr_t address_of(const void *host) {
    return reinterpret_cast<std::uintptr_t>(host);
}

// Every device can use the memory in every context; the flags only return what was requested.
void *allocate_pinned(std::size_t size, unsigned int flags) {
    Context &context = current_context();
    if (size == 0) {
        return nullptr; // as recorded: success
    }
    Range &range = allocate_on_host(Memory::host, context.device, size, &context, false);
    range.flags = flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return range.view;
}

// The range of that kind that begins at the address. Fails for everything else.
Range *range_of_kind(std::uintptr_t address, Memory memory, const char *what) {
    Range *range = AddressSpace::get().find(address);
    if (range == nullptr) {
        // A destroyed context has freed its memory, so the status is sufficient.
        require(!current_has_ended(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        AddressSpace::get().report_freed(address, what);
        return nullptr;
    }
    if (range->base != address || range->memory != memory) {
        misuse(std::string(what) + (range->base == address ? " of " : " of an address inside ") +
               range->describe());
        require(memory != Memory::registered,
                "Cannot request to unregister a VA range previously not regsitered with CUDA");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    return range;
}

// Waits for enqueued work that uses the memory, then frees it.
CUresult end(std::uintptr_t address) {
    wait_until_unused(address); // releases the lock
    Range *range = AddressSpace::get().find_base(address);
    require(range != nullptr);
    const CUresult failed = fault_of(range->context);
    AddressSpace::get().remove(*range);
    return failed;
}

// The pinned or registered memory that contains the address.
const Range &mapped_range(const void *host) {
    const Range *range = AddressSpace::get().find(address_of(host));
    if (range == nullptr) {
        AddressSpace::get().report_freed(address_of(host), "use");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    require(range->on_host() && range->memory != Memory::pool);
    return *range;
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuMemHostAlloc(OUT void **pp, size_t bytesize, unsigned int Flags) {
    current_context();
    require(pp != nullptr && (Flags & ~allocation_flags) == 0);
    *pp = allocate_pinned(bytesize, Flags);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAllocHost_v2(OUT void **pp, size_t bytesize) {
    current_context();
    require(pp != nullptr);
    *pp = allocate_pinned(bytesize, 0);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFreeHost(void *p) {
    if (p == nullptr) {
        return CUDA_SUCCESS;
    }
    require(range_of_kind(address_of(p), Memory::host, "cuMemFreeHost") != nullptr);
    return end(address_of(p));
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(OUT CUdeviceptr *pdptr, void *p, unsigned int Flags) {
    current_context();
    require(pdptr != nullptr && Flags == 0);
    require(!mapped_range(p).managed);
    *pdptr = static_cast<CUdeviceptr>(address_of(p));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostGetFlags(OUT unsigned int *pFlags, void *p) {
    current_context();
    require(pFlags != nullptr);
    *pFlags = mapped_range(p).flags;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags) {
    Context &context = current_context();
    require(p != nullptr, "Value of parameter pBase cannot be NULL");
    require(bytesize != 0, "Value of parameter bytes cannot be 0");
    require((Flags & ~registration_flags) == 0, "Invalid flags");
    const std::uintptr_t address = address_of(p);
    require(bytesize <= ~std::uintptr_t(0) - address);
    require(address + bytesize <= end_of_addresses, CUDA_ERROR_NOT_SUPPORTED);
    require(bytesize <= platform::host_memory(), CUDA_ERROR_OUT_OF_MEMORY);
    if (const Range *other = AddressSpace::get().overlapping(address, bytesize)) {
        require(other->memory == Memory::registered,
                "Cannot request to register a VA range previously allocated with a CUDA API");
        refuse(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
               "Request overlaps with overlapping allocation");
    }
    const auto access =
        (Flags & read_only) != 0 ? platform::Access::read : platform::Access::read_write;
    require(!AddressSpace::get().owns(address) && platform::is_accessible(p, bytesize, access),
            "Failed to allocate physical memory");
    Range range;
    range.base = address;
    range.size = bytesize;
    range.view = static_cast<std::byte *>(p);
    range.memory = Memory::registered;
    range.device = context.device;
    range.context = &context;
    range.flags = (Flags & reported_registration_flags) | CU_MEMHOSTREGISTER_DEVICEMAP;
    range.read_only = (Flags & read_only) != 0;
    AddressSpace::get().add(std::move(range));
    return CUDA_SUCCESS;
}

// Recorded for the first ABI, which is otherwise the same: memory that is already registered is
// refused without a reason, and unknown flags are ignored.
EXPORT CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags) {
    try {
        return driver::cuMemHostRegister_v2(p, bytesize, Flags & registration_flags);
    } catch (const Refusal &) {
        forget_reasons();
        throw;
    }
}

EXPORT CUresult cuMemHostUnregister(void *p) {
    require(p != nullptr, "Specified pointer cannot be NULL");
    const Range *range = range_of_kind(address_of(p), Memory::registered, "cuMemHostUnregister");
    require(range != nullptr, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    if (!platform::is_mapped(p, range->size)) {
        misuse("the program unmapped memory before it was unregistered: " + range->describe());
    }
    return end(address_of(p));
}

} // namespace sim::driver
