// Memory that says itself which device may reach it: mappings and pools.
#include "two_devices.hpp"

#include <unistd.h>

namespace record::QUESTIONS::two_devices {

namespace {

CUmemAccessDesc access_of(int device, CUmemAccess_flags flags) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = flags;
    return access;
}

constexpr auto none = CU_MEM_ACCESS_FLAGS_PROT_NONE, to_read = CU_MEM_ACCESS_FLAGS_PROT_READ,
               to_write = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

// Memory of a device, mapped: nobody has access.
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
        ask("cuMemGetAllocationGranularity",
            d.cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        note("minimum", static_cast<long long>(size));
        ask("cuMemCreate", d.cuMemCreate(&handle, size, &prop, 0));
        d.cuMemAddressReserve(&address, size, 0, 0, 0);
        ask("cuMemMap", d.cuMemMap(address, size, 0, handle, 0));
    }

    void allow(const char *question, int device, CUmemAccess_flags flags) const {
        const CUmemAccessDesc access = access_of(device, flags);
        ask(question, d.cuMemSetAccess(address, size, &access, 1));
    }
    void tell_access() const {
        for (const int device : {0, 1}) {
            unsigned long long flags = 77;
            const CUmemLocation where = access_of(device, none).location;
            const std::string name = "cuMemGetAccess of " + std::to_string(device);
            ask(name.c_str(), d.cuMemGetAccess(&flags, &where, address));
            note(name.c_str(), static_cast<long long>(flags));
        }
    }
};

// With the side's context current.
void use(CUdeviceptr p, const Side &side) {
    const std::string who = " by " + std::to_string(side.device);
    unsigned char first = 0;
    side.enter();
    ask(("cuMemcpyDtoH" + who).c_str(), d.cuMemcpyDtoH(&first, p, 1));
    ask(("cuMemcpyHtoD" + who).c_str(), d.cuMemcpyHtoD(p, &first, 1));
    ask(("cuMemcpyDtoD from it" + who).c_str(), d.cuMemcpyDtoD(side.memory, p, 16));
    ask(("cuMemcpyDtoD to it" + who).c_str(), d.cuMemcpyDtoD(p, side.memory, 16));
    ask(("synchronized" + who).c_str(), d.cuCtxSynchronize());
    ask(("cuMemsetD8Async" + who).c_str(), d.cuMemsetD8Async(p, 7, 16, side.stream));
    ask(("cuStreamSynchronize" + who).c_str(), d.cuStreamSynchronize(side.stream));
}

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
    ask("cuMemSetAccess of both", d.cuMemSetAccess(memory.address, memory.size, both, 2));
    memory.tell_access();
    ask("cuMemSetAccess of 1 and 99", d.cuMemSetAccess(memory.address, memory.size, partly, 2));
    memory.tell_access();
    ask("cuMemSetAccess of 1 twice", d.cuMemSetAccess(memory.address, memory.size, twice, 2));
    memory.tell_access();
    int ordinal = 77;
    ask("DEVICE_ORDINAL", d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                  memory.address));
    note("DEVICE_ORDINAL", ordinal);
    ask("cuMemUnmap", d.cuMemUnmap(memory.address, memory.size));
    ask("cuMemMap again", d.cuMemMap(memory.address, memory.size, 0, memory.handle, 0));
    memory.tell_access();
}

void mapped_for_its_own(const Sides &of) {
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    use(memory.address, of.zero);
    use(memory.address, of.one);
}

void mapped_for_the_other(const Sides &of) {
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 1", 1, to_write);
    use(memory.address, of.one);
    use(memory.address, of.zero);
}

void mapped_for_both(const Sides &of) {
    const Mapping memory(1);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    memory.allow("cuMemSetAccess of 1", 1, to_write);
    use(memory.address, of.zero);
    use(memory.address, of.one);
}

void mapped_to_read(const Sides &of) {
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    memory.allow("cuMemSetAccess of 1, to read", 1, to_read);
    use(memory.address, of.one);
}

// Access that contexts enable is none to mappings.
void mapped_with_peers(const Sides &of) {
    of.enable();
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    memory.tell_access();
    use(memory.address, of.one);
}

// Imported into the same process, and mapped for the other device.
void mapped_again(const Sides &of) {
    const Mapping memory(0);
    memory.allow("cuMemSetAccess of 0", 0, to_write);
    int fd = -1;
    CUmemGenericAllocationHandle imported = 0;
    CUdeviceptr address = 0;
    CUmemAllocationProp prop{};
    ask("cuMemExportToShareableHandle",
        d.cuMemExportToShareableHandle(&fd, memory.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       0));
    of.one.enter();
    ask("cuMemImportFromShareableHandle in 1's context",
        d.cuMemImportFromShareableHandle(&imported,
                                         reinterpret_cast<void *>(static_cast<std::intptr_t>(fd)),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    ask("cuMemGetAllocationPropertiesFromHandle",
        d.cuMemGetAllocationPropertiesFromHandle(&prop, imported));
    note("its device", prop.location.id);
    d.cuMemAddressReserve(&address, memory.size, 0, 0, 0);
    ask("cuMemMap", d.cuMemMap(address, memory.size, 0, imported, 0));
    const CUmemAccessDesc access = access_of(1, to_write);
    ask("cuMemSetAccess of 1", d.cuMemSetAccess(address, memory.size, &access, 1));
    use(address, of.one);
    of.zero.enter();
    unsigned char first = 0;
    ask("cuMemcpyDtoH of the first mapping", d.cuMemcpyDtoH(&first, memory.address, 1));
    note("what 1 set", first);
}

// --- pools

CUmemoryPool make_pool(int device) {
    CUmemPoolProps props{};
    CUmemoryPool pool = nullptr;
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = device;
    ask("cuMemPoolCreate", d.cuMemPoolCreate(&pool, &props));
    return pool;
}

void allow(const char *question, CUmemoryPool pool, int device, CUmemAccess_flags flags) {
    const CUmemAccessDesc access = access_of(device, flags);
    ask(question, d.cuMemPoolSetAccess(pool, &access, 1));
    CUmemAccess_flags told{};
    CUmemLocation where = access.location;
    ask("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &where));
    note("access", told);
}

CUdeviceptr allocate(CUmemoryPool pool, const Side &side) {
    CUdeviceptr p = 0;
    ask("cuMemAllocFromPoolAsync", d.cuMemAllocFromPoolAsync(&p, 4096, pool, side.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(side.stream));
    return p;
}

void change_pool_access(const Sides &of) {
    const CUmemoryPool pool = make_pool(0);
    CUmemoryPool usual = nullptr;
    CUmemAccess_flags told{};
    CUmemLocation one = access_of(1, none).location;
    ask("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &one));
    note("access", told);
    allow("cuMemPoolSetAccess to read", pool, 1, to_read);
    allow("cuMemPoolSetAccess", pool, 1, to_write);
    allow("cuMemPoolSetAccess again", pool, 1, to_write);
    allow("cuMemPoolSetAccess to read, later", pool, 1, to_read);
    allow("cuMemPoolSetAccess to none", pool, 1, none);
    allow("cuMemPoolSetAccess of 99", pool, 99, to_write);
    const CUmemAccessDesc partly[] = {access_of(1, to_write), access_of(99, to_write)},
                          twice[] = {access_of(1, to_write), access_of(1, none)};
    ask("cuMemPoolSetAccess of 1 and 99", d.cuMemPoolSetAccess(pool, partly, 2));
    ask("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &one));
    note("access", told);
    ask("cuMemPoolSetAccess of 1 twice", d.cuMemPoolSetAccess(pool, twice, 2));
    ask("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &one));
    note("access", told);
    ask("cuMemPoolSetAccess of none of them", d.cuMemPoolSetAccess(pool, partly, 0));
    ask("cuDeviceGetDefaultMemPool", d.cuDeviceGetDefaultMemPool(&usual, 0));
    allow("cuMemPoolSetAccess of the default one", usual, 1, to_write);
    ask("cuDeviceSetMemPool of 1", d.cuDeviceSetMemPool(1, pool));
    of.enable();
    ask("cuMemPoolGetAccess with peer access", d.cuMemPoolGetAccess(&told, pool, &one));
    note("access", told);
    ask("cuMemPoolDestroy", d.cuMemPoolDestroy(pool));
}

void pool_without_access(const Sides &of) {
    use(allocate(make_pool(0), of.zero), of.one);
}

void pool_with_peers(const Sides &of) {
    of.enable();
    use(allocate(make_pool(0), of.zero), of.one);
}

void pool_with_access(const Sides &of) {
    const CUmemoryPool pool = make_pool(0);
    const CUdeviceptr before = allocate(pool, of.zero);
    allow("cuMemPoolSetAccess", pool, 1, to_write);
    use(before, of.one);
    use(allocate(pool, of.zero), of.one);
    allow("cuMemPoolSetAccess to none", pool, 1, none);
    use(before, of.one);
}

// In streams of the device that the pool is not of.
void pool_in_other_stream(const Sides &of) {
    const CUmemoryPool pool = make_pool(0);
    const CUdeviceptr p = allocate(pool, of.one);
    int ordinal = 77;
    ask("DEVICE_ORDINAL", d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    note("DEVICE_ORDINAL", ordinal);
    ask("cuMemFreeAsync in 1's stream", d.cuMemFreeAsync(p, of.one.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    const CUdeviceptr other = allocate(pool, of.zero);
    ask("cuMemFreeAsync in 1's stream", d.cuMemFreeAsync(other, of.one.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    of.one.enter();
    ask("cuMemFree in 1's context", d.cuMemFree(allocate(pool, of.zero)));
}

// What is imported has access of its own.
void pool_imported(const Sides &of) {
    CUmemPoolProps props{};
    CUmemoryPool pool = nullptr, imported = nullptr;
    CUmemPoolPtrExportData data{};
    CUdeviceptr opened = 0;
    int fd = -1;
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ask("cuMemPoolCreate", d.cuMemPoolCreate(&pool, &props));
    allow("cuMemPoolSetAccess", pool, 1, to_write);
    const CUdeviceptr p = allocate(pool, of.zero);
    ask("cuMemPoolExportToShareableHandle",
        d.cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ask("cuMemPoolExportPointer", d.cuMemPoolExportPointer(&data, p));
    of.one.enter();
    ask("cuMemPoolImportFromShareableHandle in 1's context",
        d.cuMemPoolImportFromShareableHandle(
            &imported, reinterpret_cast<void *>(static_cast<std::intptr_t>(fd)),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    CUmemAccess_flags told{};
    for (const int device : {0, 1}) {
        CUmemLocation where = access_of(device, none).location;
        const std::string name = "cuMemPoolGetAccess of " + std::to_string(device);
        ask(name.c_str(), d.cuMemPoolGetAccess(&told, imported, &where));
        note(name.c_str(), told);
    }
    ask("cuMemPoolImportPointer in 1's context",
        d.cuMemPoolImportPointer(&opened, imported, &data));
    allow("cuMemPoolSetAccess of the imported one", imported, 1, to_write);
    use(opened, of.one);
}

} // namespace

void virtual_memory() {
    apart("access", change_access);
    apart("for its own device", mapped_for_its_own);
    apart("for the other one", mapped_for_the_other);
    apart("for both", mapped_for_both);
    apart("to read", mapped_to_read);
    apart("with peer access", mapped_with_peers);
    apart("imported", mapped_again);
}

void pools() {
    apart("access", change_pool_access);
    apart("without access", pool_without_access);
    apart("with peer access", pool_with_peers);
    apart("with access", pool_with_access);
    apart("streams of 1", pool_in_other_stream);
    apart("imported", pool_imported);
}

} // namespace record::QUESTIONS::two_devices
