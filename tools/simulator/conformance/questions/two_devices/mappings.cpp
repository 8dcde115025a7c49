// Mapped memory, which has its own access list.
#include "two_devices.hpp"

#include <unistd.h>

namespace record::QUESTIONS::two_devices {

namespace {

CUmemAccessDesc access_of(int device, CUmemAccess_flags flags) {
    CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                           .flags = flags};
    return access;
}

constexpr auto none = CU_MEM_ACCESS_FLAGS_PROT_NONE, to_read = CU_MEM_ACCESS_FLAGS_PROT_READ,
               to_write = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

// Mapped memory of a device, without access.
struct Mapping {
    CUmemAllocationProp prop{};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    std::size_t size = 0;

    explicit Mapping(int device) {
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        prop.location.id = device;
        prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        tell("cuMemGetAllocationGranularity",
             d.cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), size);
        ASK(cuMemCreate, "", &handle, size, &prop, 0);
        d.cuMemAddressReserve(&address, size, 0, 0, 0);
        ASK(cuMemMap, "", address, size, 0, handle, 0);
    }

    void allow(const char *question, int device, CUmemAccess_flags flags) const {
        const CUmemAccessDesc access = access_of(device, flags);
        ask(question, d.cuMemSetAccess(address, size, &access, 1));
    }
    void tell_access() const {
        for (const int device : {0, 1}) {
            unsigned long long flags = 77;
            const CUmemLocation where = access_of(device, none).location;
            tell("cuMemGetAccess of " + std::to_string(device),
                 d.cuMemGetAccess(&flags, &where, address), flags);
        }
    }
};

void change_access(const Sides &) {
    const Mapping memory(0);
    memory.tell_access();
    memory.allow("cuMemSetAccess of 1", 1, to_write);
    memory.tell_access();
    memory.allow("cuMemSetAccess of 0, to read", 0, to_read);
    memory.tell_access();
    memory.allow("cuMemSetAccess of 1, none", 1, none);
    memory.tell_access();
    const CUmemAccessDesc both[] = {access_of(0, to_write), access_of(1, to_read)},
                          partly[] = {access_of(1, to_write), access_of(99, to_write)},
                          twice[] = {access_of(1, to_write), access_of(1, to_read)};
    ASK(cuMemSetAccess, " of both", memory.address, memory.size, both, 2);
    memory.tell_access();
    ASK(cuMemSetAccess, " of 1 and 99", memory.address, memory.size, partly, 2);
    memory.tell_access();
    ASK(cuMemSetAccess, " of 1 twice", memory.address, memory.size, twice, 2);
    memory.tell_access();
    int ordinal = 77;
    tell("DEVICE_ORDINAL",
         d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory.address),
         ordinal);
    ASK(cuMemUnmap, "", memory.address, memory.size);
    ASK(cuMemMap, " again", memory.address, memory.size, 0, memory.handle, 0);
    memory.tell_access();
}

void mapped_for_both(const Sides &of) {
    const Mapping memory(1);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    memory.allow("cuMemSetAccess of 1", 1, to_write);
    use(memory.address, of.zero);
    use(memory.address, of.one);
}

CUdeviceptr mapped_for_zero(const Sides &) {
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    return memory.address;
}

CUdeviceptr mapped_for_one(const Sides &of) {
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 1", 1, to_write);
    use(memory.address, of.one);
    return memory.address;
}

CUdeviceptr mapped_to_read(const Sides &) {
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    memory.allow("cuMemSetAccess of 1, to read", 1, to_read);
    return memory.address;
}

// Peer access of contexts does not apply to mappings.
CUdeviceptr mapped_with_peers(const Sides &of) {
    of.enable();
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    memory.tell_access();
    return memory.address;
}

// Imported into the same process, and mapped for the other device.
void mapped_again(const Sides &of) {
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    int fd = -1;
    CUmemGenericAllocationHandle imported = 0;
    CUmemAllocationProp prop{};
    ASK(cuMemExportToShareableHandle, "", &fd, memory.handle,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    of.one.enter();
    ASK(cuMemImportFromShareableHandle, " in 1's context", &imported,
        reinterpret_cast<void *>(static_cast<std::intptr_t>(fd)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(fd);
    tell("cuMemGetAllocationPropertiesFromHandle",
         d.cuMemGetAllocationPropertiesFromHandle(&prop, imported), prop.location.id);
    CUdeviceptr address = MAKE(cuMemAddressReserve, memory.size, 0, 0, 0);
    ASK(cuMemMap, "", address, memory.size, 0, imported, 0);
    const CUmemAccessDesc access = access_of(1, to_write);
    ASK(cuMemSetAccess, " of 1", address, memory.size, &access, 1);
    use(address, of.one);
    of.zero.enter();
    unsigned char first = 0;
    tell("what 1 set", d.cuMemcpyDtoH(&first, memory.address, 1), first);
}

} // namespace

SECTION("virtual_memory") {
    apart("access", change_access);
    apart("for both", mapped_for_both);
    use_apart("for 0, used by 1", &Sides::one, mapped_for_zero);
    use_apart("for 1, used by 0", &Sides::zero, mapped_for_one);
    use_apart("to read", &Sides::one, mapped_to_read);
    use_apart("with peer access", &Sides::one, mapped_with_peers);
    apart("imported", mapped_again);
}

} // namespace record::QUESTIONS::two_devices
