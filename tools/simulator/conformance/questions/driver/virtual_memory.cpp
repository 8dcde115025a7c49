// Virtual memory management, descriptors, IPC, pools.
#include "../../record.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace record::QUESTIONS {

namespace {

CUmemAllocationProp device_memory() {
    CUmemAllocationProp prop{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    return prop;
}

CUmemAccessDesc read_write() {
    CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return access;
}

bool is_open(int fd) {
    return fcntl(fd, F_GETFD) != -1;
}

} // namespace

SECTION("virtual_memory") {
    d.cuInit(0);
    auto prop = device_memory();
    std::size_t g = 0, recommended = 0;
    ASK(cuMemGetAllocationGranularity, "", &g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    note("minimum", g);
    d.cuMemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    note("recommended", recommended);
    ASK(cuMemGetAllocationGranularity, "(null)", nullptr, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    ASK(cuMemGetAllocationGranularity, "(option 7)", &recommended, &prop,
        static_cast<CUmemAllocationGranularity_flags>(7));
    CUmemGenericAllocationHandle handle = 0, other = 0;
    CUdeviceptr va = 0, second = 0;
    ASK(cuMemCreate, " size G+1", &handle, g + 1, &prop, 0);
    ASK(cuMemCreate, " size 0", &handle, 0, &prop, 0);
    ASK(cuMemCreate, " flags 1", &handle, g, &prop, 1);
    ASK(cuMemCreate, " null prop", &handle, g, nullptr, 0);
    ASK(cuMemCreate, " 1 PiB", &handle, std::size_t(1) << 50, &prop, 0);
    prop.location.id = 99;
    ASK(cuMemCreate, " device 99", &handle, g, &prop, 0);
    prop.location.id = 0;
    prop.type = static_cast<CUmemAllocationType>(7);
    ASK(cuMemCreate, " type 7", &handle, g, &prop, 0);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(2);
    ASK(cuMemCreate, " Win32 handle type", &handle, g, &prop, 0);
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(8);
    ASK(cuMemCreate, " fabric handle type", &handle, g, &prop, 0);
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(0x40);
    ASK(cuMemCreate, " handle type 0x40", &handle, g, &prop, 0);
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    ASK(cuMemAddressReserve, " size 0", &va, 0, 0, 0, 0);
    ASK(cuMemAddressReserve, " size 1", &va, 1, 0, 0, 0);
    ASK(cuMemAddressReserve, " align 3", &va, g, 3, 0, 0);
    ASK(cuMemAddressReserve, " align 8 MiB", &va, g, 8 << 20, 0, 0);
    note("address modulo 8 MiB", va % (8 << 20));
    ASK(cuMemAddressFree, "", va, g);
    ASK(cuMemAddressReserve, " flags 1", &va, g, 0, 0, 1);
    ASK(cuMemAddressReserve, " null", nullptr, g, 0, 0, 0);
    ASK(cuMemAddressReserve, " at 3 (hint)", &va, g, 0, 3, 0);
    ASK(cuMemAddressReserve, " 8 G", &va, 8 * g, 0, 0, 0);
    ASK(cuMemAddressReserve, " at a taken address (hint)", &second, 4 * g, 0, va, 0);
    note("it got another address", second != va);
    ASK(cuMemCreate, " 2 G", &handle, 2 * g, &prop, 0);
    ASK(cuMemMap, " offset in the allocation", va, g, g, handle, 0);
    ASK(cuMemMap, " misaligned address", va + 4096, 2 * g, 0, handle, 0);
    ASK(cuMemMap, " outside any range", 0x200000, 2 * g, 0, handle, 0);
    ASK(cuMemMap, " size under the allocation's", va, g, 0, handle, 0);
    ASK(cuMemUnmap, " of it", va, g);
    ASK(cuMemMap, " size over the allocation's", va, 3 * g, 0, handle, 0);
    ASK(cuMemMap, " flags 1", va, 2 * g, 0, handle, 1);
    ASK(cuMemMap, " size 0", va, 0, 0, handle, 0);
    ASK(cuMemMap, " null handle", va, 2 * g, 0, 0, 0);
    ASK(cuMemMap, "", va, 2 * g, 0, handle, 0);
    ASK(cuMemMap, " the same place again", va, 2 * g, 0, handle, 0);
    ASK(cuMemMap, " overlapping by one", va + g, 2 * g, 0, handle, 0);
    ASK(cuMemMap, " elsewhere (alias)", va + 2 * g, 2 * g, 0, handle, 0);
    auto access = read_write();
    unsigned long long flags = 77;
    ASK(cuMemGetAccess, " before any is set", &flags, &access.location, va).note("flags", flags);
    ASK(cuMemSetAccess, " count 0", va, 2 * g, &access, 0);
    ASK(cuMemSetAccess, " null", va, 2 * g, nullptr, 1);
    ASK(cuMemSetAccess, " half a mapping", va, g, &access, 1);
    ASK(cuMemSetAccess, " size 1", va, 1, &access, 1);
    ASK(cuMemSetAccess, " of an unmapped part", va + 4 * g, g, &access, 1);
    ASK(cuMemSetAccess, " mapped and unmapped", va, 6 * g, &access, 1);
    access.flags = static_cast<CUmemAccess_flags>(7);
    ASK(cuMemSetAccess, " flags 7", va, 2 * g, &access, 1);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    access.location.id = 99;
    ASK(cuMemSetAccess, " device 99", va, 2 * g, &access, 1);
    access.location.id = 0;
    start();
    int word = 7;
    ASK(cuMemcpyHtoD, " without access", va + 2 * g, &word, 4);
    ASK(cuMemsetD8, " without access", va + 2 * g, 0, 4);
    ASK(cuMemSetAccess, " both", va, 4 * g, &access, 1);
    ASK(cuMemGetAccess, "", &flags, &access.location, va).note("flags", flags);
    ASK(cuMemcpyHtoD, "", va + 8, &word, 4);
    word = 0;
    ASK(cuMemcpyDtoH, " through the alias", &word, va + 2 * g + 8, 4).note("the same bytes", word);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    ASK(cuMemSetAccess, " read-only", va + 2 * g, 2 * g, &access, 1);
    ASK(cuMemcpyHtoD, " to read-only", va + 2 * g, &word, 4);
    ASK(cuMemcpyDtoH, " from read-only", &word, va + 2 * g, 4);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ASK(cuMemSetAccess, " none", va + 2 * g, 2 * g, &access, 1);
    ASK(cuMemcpyDtoH, " then", &word, va + 2 * g, 4);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    ASK(cuMemGetAddressRange, " of the second mapping", &base, &size, va + 2 * g + 8);
    ASK(cuMemFree, " of mapped memory", va);
    ASK(cuMemUnmap, " half", va, g);
    ASK(cuMemRetainAllocationHandle, "", &other, reinterpret_cast<void *>(va + 8));
    note("the same handle", handle == other);
    ASK(cuMemRetainAllocationHandle, " of unmapped", &other, reinterpret_cast<void *>(va + 5 * g));
    CUmemAllocationProp told{};
    ASK(cuMemGetAllocationPropertiesFromHandle, "", &told, handle);
    note("location type", told.location.type);
    ASK(cuMemRelease, " while mapped", handle);
    ASK(cuMemRelease, " of the retained one", handle);
    ASK(cuMemRelease, " once more", handle);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    ASK(cuMemSetAccess, " after release", va, 2 * g, &access, 1);
    ASK(cuMemcpyDtoH, " after release", &word, va, 4);
    ASK(cuMemAddressFree, " while mapped", va, 8 * g);
    ASK(cuMemUnmap, " both in one call", va, 4 * g);
    ASK(cuMemUnmap, " again", va, 4 * g);
    ASK(cuMemUnmap, " with unmapped parts", va, 8 * g);
    ASK(cuMemAddressFree, " half", va, 4 * g);
    ASK(cuMemAddressFree, "", va, 8 * g);
    ASK(cuMemAddressFree, " again", va, 8 * g);
    if (second) {
        d.cuMemAddressFree(second, 4 * g);
    }
}

SECTION_ONCE("descriptors", start) {
    auto prop = device_memory();
    std::size_t g = MAKE(cuMemGetAllocationGranularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CUmemGenericAllocationHandle handle = 0, imported = 0;
    int fd = -1;
    CUmemGenericAllocationHandle plain = MAKE(cuMemCreate, g, &prop, 0);
    ASK(cuMemExportToShareableHandle, " without a handle type", &fd, plain,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    d.cuMemRelease(plain);
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ASK(cuMemCreate, " with a descriptor", &handle, g, &prop, 0);
    ASK(cuMemExportToShareableHandle, " flags 1", &fd, handle,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1);
    ASK(cuMemExportToShareableHandle, " null", nullptr, handle,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ASK(cuMemExportToShareableHandle, "", &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    note("close-on-exec", fcntl(fd, F_GETFD) == FD_CLOEXEC);
    const auto as_handle = [](int descriptor) {
        return reinterpret_cast<void *>(static_cast<std::intptr_t>(descriptor));
    };
    ASK(cuMemImportFromShareableHandle, "", &imported, as_handle(fd),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        .note("fd is open", is_open(fd));
    note("the same handle", imported == handle);
    ASK(cuMemRelease, " of the imported", imported);
    const int null_device = open("/dev/null", O_RDWR);
    ASK(cuMemImportFromShareableHandle, " of /dev/null", &imported, as_handle(null_device),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        .note("fd is open", is_open(null_device));
    ASK(cuMemImportFromShareableHandle, " of -1", &imported, as_handle(-1),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = dup(fd);
    desc.size = g;
    int copy = desc.handle.fd;
    CUexternalMemory memory = nullptr;
    ASK(cuImportExternalMemory, " of a descriptor", &memory, &desc);
    note("fd is open", is_open(copy));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
    CUdeviceptr p = 0;
    buffer.size = g;
    ASK(cuExternalMemoryGetMappedBuffer, "", &p, memory, &buffer);
    CUdeviceptr half = 0;
    buffer.offset = g / 2;
    ask("mapped buffer out of range", d.cuExternalMemoryGetMappedBuffer(&half, memory, &buffer));
    buffer.size = 0;
    ask("mapped buffer size 0", d.cuExternalMemoryGetMappedBuffer(&half, memory, &buffer));
    buffer.size = 4096;
    buffer.offset = 100;
    ask("mapped buffer at offset 100", d.cuExternalMemoryGetMappedBuffer(&half, memory, &buffer));
    buffer.offset = 0;
    buffer.flags = 1;
    ask("mapped buffer flags 1", d.cuExternalMemoryGetMappedBuffer(&half, memory, &buffer));
    buffer.flags = 0;
    ask("mapped buffer of 4096", d.cuExternalMemoryGetMappedBuffer(&half, memory, &buffer));
    ASK(cuDestroyExternalMemory, " before the buffers", memory);
    ASK(cuMemFree, " of the mapped buffer", p);
    ASK(cuMemFree, " of the second", half);
    desc.handle.fd = dup(fd);
    copy = desc.handle.fd;
    desc.size = 0;
    ASK(cuImportExternalMemory, " size 0", &memory, &desc).note("fd is open", is_open(copy));
    desc.size = 64 * g;
    desc.handle.fd = dup(fd);
    copy = desc.handle.fd;
    ASK(cuImportExternalMemory, " larger than it is", &memory, &desc);
    note("fd is open", is_open(copy));
    buffer.size = g;
    ask("mapped buffer that is there", d.cuExternalMemoryGetMappedBuffer(&half, memory, &buffer));
    d.cuMemFree(half);
    buffer.size = 2 * g;
    ask("mapped buffer that is not", d.cuExternalMemoryGetMappedBuffer(&half, memory, &buffer));
    d.cuCtxSetCurrent(nullptr);
    buffer.size = g;
    ask("mapped buffer without a context",
        d.cuExternalMemoryGetMappedBuffer(&half, memory, &buffer));
    d.cuMemFree(half);
    ASK(cuDestroyExternalMemory, " without a context", memory);
    d.cuCtxSetCurrent(context());
    ask("mapped buffer of null", d.cuExternalMemoryGetMappedBuffer(&half, nullptr, &buffer));
    desc.size = g;
    desc.flags = 2;
    desc.handle.fd = dup(fd);
    copy = desc.handle.fd;
    ASK(cuImportExternalMemory, " flags 2", &memory, &desc).note("fd is open", is_open(copy));
    desc.flags = 0;
    desc.type = static_cast<CUexternalMemoryHandleType>(77);
    desc.handle.fd = dup(fd);
    copy = desc.handle.fd;
    ASK(cuImportExternalMemory, " type 77", &memory, &desc).note("fd is open", is_open(copy));
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
    desc.handle.win32.handle = nullptr;
    desc.handle.win32.name = nullptr;
    ASK(cuImportExternalMemory, " of a Win32 handle", &memory, &desc);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = open("/dev/null", O_RDWR);
    copy = desc.handle.fd;
    ASK(cuImportExternalMemory, " of /dev/null", &memory, &desc).note("fd is open", is_open(copy));
    desc.handle.fd = -1;
    ASK(cuImportExternalMemory, " of -1", &memory, &desc);
    ASK(cuImportExternalMemory, "(null)", &memory, nullptr);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC semaphore{};
    CUexternalSemaphore out = nullptr;
    const int kinds[] = {1, 2, 4, 5, 8, 9, 10};
    for (const int kind : kinds) {
        semaphore.type = static_cast<CUexternalSemaphoreHandleType>(kind);
        semaphore.handle.fd = open("/dev/null", O_RDWR);
        copy = semaphore.handle.fd;
        if (kind != 1 && kind != 9) {
            close(copy);
            semaphore.handle.win32.handle = nullptr;
        }
        const std::string name = "cuImportExternalSemaphore kind " + std::to_string(kind);
        ask(name, d.cuImportExternalSemaphore(&out, &semaphore));
        if (kind == 1 || kind == 9) {
            note("fd is open", is_open(copy));
        }
    }
    ASK(cuDestroyExternalMemory, "(null)", nullptr);
    ASK(cuDestroyExternalSemaphore, "(null)", nullptr);
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    ASK(cuSignalExternalSemaphoresAsync, "(0 of them)", &out, &signal, 0, nullptr);
    d.cuMemRelease(handle);
    close(fd);
}

SECTION_ONCE("ipc", start) {
    CUdeviceptr opened = 0;
    CUdeviceptr p = MAKE(cuMemAlloc, 1 << 20);
    CUipcMemHandle handle{}, interior{};
    ASK(cuIpcGetMemHandle, "(null)", nullptr, p);
    ASK(cuIpcGetMemHandle, " of 0", &handle, 0);
    ASK(cuIpcGetMemHandle, " of garbage", &handle, 0x1234560);
    ASK(cuIpcGetMemHandle, "", &handle, p);
    ASK(cuIpcGetMemHandle, " of interior", &interior, p + 4096);
    ASK(cuIpcOpenMemHandle, " in the same process", &opened, handle,
        CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    ASK(cuIpcOpenMemHandle, " flags 0", &opened, handle, 0);
    ASK(cuIpcOpenMemHandle, " flags 2", &opened, handle, 2);
    ASK(cuIpcOpenMemHandle, "(null)", nullptr, handle, 1);
    CUipcMemHandle zeros{};
    ASK(cuIpcOpenMemHandle, " of zeros", &opened, zeros, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    ASK(cuIpcCloseMemHandle, " of own memory", p);
    ASK(cuIpcCloseMemHandle, " of 0", 0);
    CUevent event = nullptr, other = nullptr;
    ASK(cuEventCreate, " INTERPROCESS without DISABLE_TIMING", &event, CU_EVENT_INTERPROCESS);
    ASK(cuEventCreate, " INTERPROCESS", &event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    CUipcEventHandle event_handle{};
    ASK(cuIpcGetEventHandle, "", &event_handle, event);
    ASK(cuIpcOpenEventHandle, " in the same process", &other, event_handle);
    CUipcEventHandle no_event{};
    ASK(cuIpcOpenEventHandle, " of zeros", &other, no_event);
    ASK(cuIpcOpenEventHandle, "(null)", nullptr, event_handle);
    d.cuEventCreate(&other, CU_EVENT_DISABLE_TIMING);
    ASK(cuIpcGetEventHandle, " of a plain event", &event_handle, other);
    ASK(cuIpcOpenEventHandle, " after the failed export", &other, event_handle);
    void *pinned = MAKE(cuMemHostAlloc, 4096, 0);
    CUdeviceptr host = MAKE(cuMemHostGetDevicePointer, pinned, 0);
    ASK(cuIpcGetMemHandle, " of pinned memory", &handle, host);
    d.cuMemFreeHost(pinned);
    ASK(cuEventDestroy, "", event);
    d.cuMemFree(p);
}

SECTION("pools", start) {
    CUmemoryPool pool = nullptr, def = nullptr, current = nullptr;
    ASK(cuDeviceGetDefaultMemPool, "", &def, 0);
    ASK(cuDeviceGetMemPool, "", &current, 0).note("the default is current", def == current);
    ASK(cuMemPoolDestroy, "(default)", def);
    CUmemPoolProps props{};
    ASK(cuMemPoolCreate, " of zeros", &pool, &props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    ASK(cuMemPoolCreate, "(null)", nullptr, &props);
    props.location.id = 99;
    ASK(cuMemPoolCreate, " device 99", &pool, &props);
    props.location.id = 0;
    ASK(cuMemPoolCreate, "", &pool, &props);
    cuuint64_t value = 77;
    const struct {
        const char *name;
        CUmemPool_attribute which;
    } all[] = {
        {"REUSE_FOLLOW_EVENT_DEPENDENCIES", CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES},
        {"REUSE_ALLOW_OPPORTUNISTIC", CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC},
        {"REUSE_ALLOW_INTERNAL_DEPENDENCIES", CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES},
        {"RELEASE_THRESHOLD", CU_MEMPOOL_ATTR_RELEASE_THRESHOLD},
        {"RESERVED_MEM_CURRENT", CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT},
        {"RESERVED_MEM_HIGH", CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH},
        {"USED_MEM_CURRENT", CU_MEMPOOL_ATTR_USED_MEM_CURRENT},
        {"USED_MEM_HIGH", CU_MEMPOOL_ATTR_USED_MEM_HIGH},
    };
    for (const auto &each : all) {
        value = 0;
        ask(each.name, d.cuMemPoolGetAttribute(pool, each.which, &value)).note(each.name, value);
    }
    ASK(cuMemPoolGetAttribute, " 77", pool, static_cast<CUmemPool_attribute>(77), &value);
    value = 5;
    ask("set RESERVED_MEM_HIGH 5",
        d.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &value));
    value = 0;
    ask("set RESERVED_MEM_HIGH 0",
        d.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &value));
    ask("set RESERVED_MEM_CURRENT",
        d.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
    CUstream stream = MAKE(cuStreamCreate, 0);
    CUdeviceptr p = 0, q = 0;
    ASK(cuMemAllocAsync, " 0", &p, 0, stream);
    ASK(cuMemAllocAsync, "(null)", nullptr, 16, stream);
    ASK(cuMemAllocAsync, " 1 PiB", &p, std::size_t(1) << 50, stream);
    ASK(cuMemAllocFromPoolAsync, "", &p, 1000, pool, stream);
    ASK(cuMemAllocFromPoolAsync, "(null pool)", &q, 1000, nullptr, stream);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    ASK(cuMemGetAddressRange, " of pool memory", &base, &size, p + 8).note("size", size);
    d.cuStreamSynchronize(stream);
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value);
    note("used", value);
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value);
    note("reserved", value);
    CUipcMemHandle handle{};
    ASK(cuIpcGetMemHandle, " of pool memory", &handle, p);
    ASK(cuMemFreeAsync, "(0)", 0, stream);
    ASK(cuMemFreeAsync, " of garbage", 0x1234560, stream);
    ASK(cuMemFreeAsync, " interior", p + 8, stream);
    ASK(cuMemFreeAsync, "", p, stream);
    ASK(cuMemFreeAsync, " again", p, stream);
    d.cuStreamSynchronize(stream);
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value);
    note("used after the free", value);
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value);
    note("reserved after the free", value);
    ASK(cuMemPoolTrimTo, " 0", pool, 0);
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value);
    note("reserved after the trim", value);
    ASK(cuMemAllocAsync, "", &q, 4096, stream);
    ASK(cuMemFree, " of pool memory", q);
    ASK(cuMemAlloc, ", freed by cuMemFreeAsync", &q, 4096);
    ask("  that free", d.cuMemFreeAsync(q, stream));
    d.cuStreamSynchronize(stream);
    CUmemAccessDesc access = read_write();
    ASK(cuMemPoolSetAccess, " of the own device", pool, &access, 1);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ASK(cuMemPoolSetAccess, " none for the own device", pool, &access, 1);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    ASK(cuMemPoolSetAccess, " read for the own device", pool, &access, 1);
    CUmemAccess_flags told{};
    ASK(cuMemPoolGetAccess, "", &told, pool, &access.location).note("access", told);
    int fd = -1;
    ASK(cuMemPoolExportToShareableHandle, " without a type", &fd, pool,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ASK(cuDeviceSetMemPool, "", 0, pool);
    ASK(cuDeviceSetMemPool, "(null)", 0, nullptr);
    ASK(cuMemPoolDestroy, " of the current", pool);
    d.cuDeviceGetMemPool(&current, 0);
    note("the default is current again", current == def);
    ASK(cuMemPoolDestroy, " again", pool);
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ASK(cuMemPoolCreate, " with descriptors", &pool, &props);
    ASK(cuMemPoolExportToShareableHandle, "", &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        0);
    CUmemoryPool imported = nullptr;
    ASK(cuMemPoolImportFromShareableHandle, " in the same process", &imported,
        reinterpret_cast<void *>(static_cast<std::intptr_t>(fd)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)
        .note("fd is open", is_open(fd));
    d.cuMemAllocFromPoolAsync(&p, 4096, pool, stream);
    CUmemPoolPtrExportData data{};
    ASK(cuMemPoolExportPointer, "", &data, p);
    if (imported) {
        ASK(cuMemAllocFromPoolAsync, " of an imported pool", &q, 16, imported, stream);
        ASK(cuMemPoolImportPointer, "", &q, imported, &data);
        ASK(cuMemPoolImportPointer, " again", &q, imported, &data);
        CUmemPoolPtrExportData zeros{};
        ASK(cuMemPoolImportPointer, " of zeros", &q, imported, &zeros);
        ASK(cuMemPoolSetAttribute, " of an imported pool", imported,
            CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
    }
    const int null_device = open("/dev/null", O_RDWR);
    ASK(cuMemPoolImportFromShareableHandle, " of /dev/null", &imported,
        reinterpret_cast<void *>(static_cast<std::intptr_t>(null_device)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)
        .note("fd is open", is_open(null_device));
    ASK(cuMemPoolDestroy, " with a live allocation", pool);
    ASK(cuMemFreeAsync, " of it", p, stream);
    d.cuStreamSynchronize(stream);
}

// The required order of exports: first the pool, then memory in it.
SECTION_ONCE("pool_export_order", start) {
    CUmemPoolProps props{.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                         .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUstream stream = MAKE(cuStreamCreate, 0);
    CUmemoryPool pool = MAKE(cuMemPoolCreate, &props);
    CUdeviceptr p = MAKE(cuMemAllocFromPoolAsync, 4096, pool, stream);
    d.cuStreamSynchronize(stream);
    CUmemPoolPtrExportData data{};
    ASK(cuMemPoolExportPointer, " before its pool", &data, p);
    int fd = -1;
    ASK(cuMemPoolExportToShareableHandle, "", &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        0);
    ASK(cuMemPoolExportPointer, "", &data, p);
    close(fd);
    ASK(cuMemPoolExportPointer, " after the handle", &data, p);
    d.cuMemFreeAsync(p, stream);
    d.cuStreamSynchronize(stream);
    d.cuMemPoolDestroy(pool);
    d.cuStreamDestroy(stream);
}

} // namespace record::QUESTIONS
