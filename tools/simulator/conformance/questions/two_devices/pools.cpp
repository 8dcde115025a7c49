// Pools, which have their own access lists.
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

CUmemoryPool make_pool(int device) {
    CUmemPoolProps props{};
    CUmemoryPool pool = nullptr;
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = device;
    ASK(cuMemPoolCreate, "", &pool, &props);
    return pool;
}

void allow(const char *question, CUmemoryPool pool, int device, CUmemAccess_flags flags) {
    const CUmemAccessDesc access = access_of(device, flags);
    ask(question, d.cuMemPoolSetAccess(pool, &access, 1));
    CUmemAccess_flags told{};
    CUmemLocation where = access.location;
    tell("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &where), told);
}

CUdeviceptr allocate(CUmemoryPool pool, const Side &side) {
    CUdeviceptr p = 0;
    ASK(cuMemAllocFromPoolAsync, "", &p, 4096, pool, side.stream);
    ASK(cuStreamSynchronize, "", side.stream);
    return p;
}

void change_pool_access(const Sides &of) {
    const CUmemoryPool pool = make_pool(0);
    CUmemoryPool usual = nullptr;
    CUmemAccess_flags told{};
    CUmemLocation one = access_of(1, none).location;
    tell("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &one), told);
    allow("cuMemPoolSetAccess to read", pool, 1, to_read);
    allow("cuMemPoolSetAccess", pool, 1, to_write);
    allow("cuMemPoolSetAccess again", pool, 1, to_write);
    allow("cuMemPoolSetAccess to read, later", pool, 1, to_read);
    allow("cuMemPoolSetAccess to none", pool, 1, none);
    allow("cuMemPoolSetAccess of 99", pool, 99, to_write);
    const CUmemAccessDesc partly[] = {access_of(1, to_write), access_of(99, to_write)},
                          twice[] = {access_of(1, to_write), access_of(1, none)};
    ASK(cuMemPoolSetAccess, " of 1 and 99", pool, partly, 2);
    tell("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &one), told);
    ASK(cuMemPoolSetAccess, " of 1 twice", pool, twice, 2);
    tell("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &one), told);
    ASK(cuMemPoolSetAccess, " of none of them", pool, partly, 0);
    ASK(cuDeviceGetDefaultMemPool, "", &usual, 0);
    allow("cuMemPoolSetAccess of the default one", usual, 1, to_write);
    ASK(cuDeviceSetMemPool, " of 1", 1, pool);
    of.enable();
    tell("cuMemPoolGetAccess with peer access", d.cuMemPoolGetAccess(&told, pool, &one), told);
    ASK(cuMemPoolDestroy, "", pool);
}

CUdeviceptr pool_without_access(const Sides &of) {
    return allocate(make_pool(0), of.zero);
}

CUdeviceptr pool_with_peers(const Sides &of) {
    of.enable();
    return pool_without_access(of);
}

void pool_with_access(const Sides &of) {
    const CUmemoryPool pool = make_pool(0);
    const CUdeviceptr before = allocate(pool, of.zero);
    allow("cuMemPoolSetAccess", pool, 1, to_write);
    use(before, of.one);
    use(allocate(pool, of.zero), of.one);
}

CUdeviceptr pool_no_longer(const Sides &of) {
    const CUmemoryPool pool = make_pool(0);
    allow("cuMemPoolSetAccess", pool, 1, to_write);
    const CUdeviceptr p = allocate(pool, of.zero);
    allow("cuMemPoolSetAccess to none", pool, 1, none);
    return p;
}

// In streams of the other device.
void pool_in_other_stream(const Sides &of) {
    const CUmemoryPool pool = make_pool(0);
    const CUdeviceptr p = allocate(pool, of.one);
    int ordinal = 77;
    tell("DEVICE_ORDINAL",
         d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p), ordinal);
    ASK(cuMemFreeAsync, " in 1's stream", p, of.one.stream);
    ASK(cuStreamSynchronize, "", of.one.stream);
    const CUdeviceptr other = allocate(pool, of.zero);
    ASK(cuMemFreeAsync, " in 1's stream", other, of.one.stream);
    ASK(cuStreamSynchronize, "", of.one.stream);
    of.one.enter();
    ASK(cuMemFree, " in 1's context", allocate(pool, of.zero));
}

// An imported pool has its own access list.
void pool_imported(const Sides &of) {
    CUmemPoolProps props{};
    CUmemoryPool pool = nullptr, imported = nullptr;
    CUmemPoolPtrExportData data{};
    CUdeviceptr opened = 0;
    int fd = -1;
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ASK(cuMemPoolCreate, "", &pool, &props);
    allow("cuMemPoolSetAccess", pool, 1, to_write);
    const CUdeviceptr p = allocate(pool, of.zero);
    ASK(cuMemPoolExportToShareableHandle, "", &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        0);
    ASK(cuMemPoolExportPointer, "", &data, p);
    of.one.enter();
    ASK(cuMemPoolImportFromShareableHandle, " in 1's context", &imported,
        reinterpret_cast<void *>(static_cast<std::intptr_t>(fd)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    close(fd);
    CUmemAccess_flags told{};
    for (const int device : {0, 1}) {
        CUmemLocation where = access_of(device, none).location;
        tell("cuMemPoolGetAccess of " + std::to_string(device),
             d.cuMemPoolGetAccess(&told, imported, &where), told);
    }
    ASK(cuMemPoolImportPointer, " in 1's context", &opened, imported, &data);
    allow("cuMemPoolSetAccess of the imported one", imported, 1, to_write);
    use(opened, of.one);
}

} // namespace

SECTION("pools") {
    apart("access", change_pool_access);
    use_apart("without access", &Sides::one, pool_without_access);
    use_apart("with peer access", &Sides::one, pool_with_peers);
    apart("with access", pool_with_access);
    use_apart("with access no longer", &Sides::one, pool_no_longer);
    apart("streams of 1", pool_in_other_stream);
    apart("imported", pool_imported);
}

} // namespace record::QUESTIONS::two_devices
