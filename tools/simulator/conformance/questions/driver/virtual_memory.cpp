// Virtual memory management, descriptors, IPC, pools.
#include "../../record.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace record::QUESTIONS {

namespace {

CUmemAllocationProp device_memory() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return prop;
}

CUmemAccessDesc read_write() {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return access;
}

bool is_open(int fd) {
    return fcntl(fd, F_GETFD) != -1;
}

} // namespace

void virtual_memory() {
    d.cuInit(0);
    auto prop = device_memory();
    std::size_t g = 0, recommended = 0;
    ask("cuMemGetAllocationGranularity",
        d.cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    note("minimum", static_cast<long long>(g));
    d.cuMemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    note("recommended", static_cast<long long>(recommended));
    ask("cuMemGetAllocationGranularity(null)",
        d.cuMemGetAllocationGranularity(nullptr, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    ask("cuMemGetAllocationGranularity(option 7)",
        d.cuMemGetAllocationGranularity(&recommended, &prop,
                                        static_cast<CUmemAllocationGranularity_flags>(7)));
    CUmemGenericAllocationHandle handle = 0, other = 0;
    CUdeviceptr va = 0, second = 0;
    ask("cuMemCreate size G+1", d.cuMemCreate(&handle, g + 1, &prop, 0));
    ask("cuMemCreate size 0", d.cuMemCreate(&handle, 0, &prop, 0));
    ask("cuMemCreate flags 1", d.cuMemCreate(&handle, g, &prop, 1));
    ask("cuMemCreate null prop", d.cuMemCreate(&handle, g, nullptr, 0));
    ask("cuMemCreate 1 PiB", d.cuMemCreate(&handle, std::size_t(1) << 50, &prop, 0));
    prop.location.id = 99;
    ask("cuMemCreate device 99", d.cuMemCreate(&handle, g, &prop, 0));
    prop.location.id = 0;
    prop.type = static_cast<CUmemAllocationType>(7);
    ask("cuMemCreate type 7", d.cuMemCreate(&handle, g, &prop, 0));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(2);
    ask("cuMemCreate Win32 handle type", d.cuMemCreate(&handle, g, &prop, 0));
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(8);
    ask("cuMemCreate fabric handle type", d.cuMemCreate(&handle, g, &prop, 0));
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(0x40);
    ask("cuMemCreate handle type 0x40", d.cuMemCreate(&handle, g, &prop, 0));
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    ask("cuMemAddressReserve size 0", d.cuMemAddressReserve(&va, 0, 0, 0, 0));
    ask("cuMemAddressReserve size 1", d.cuMemAddressReserve(&va, 1, 0, 0, 0));
    ask("cuMemAddressReserve align 3", d.cuMemAddressReserve(&va, g, 3, 0, 0));
    ask("cuMemAddressReserve align 8 MiB", d.cuMemAddressReserve(&va, g, 8 << 20, 0, 0));
    note("address modulo 8 MiB", static_cast<long long>(va % (8 << 20)));
    ask("cuMemAddressFree", d.cuMemAddressFree(va, g));
    ask("cuMemAddressReserve flags 1", d.cuMemAddressReserve(&va, g, 0, 0, 1));
    ask("cuMemAddressReserve null", d.cuMemAddressReserve(nullptr, g, 0, 0, 0));
    ask("cuMemAddressReserve at 3 (hint)", d.cuMemAddressReserve(&va, g, 0, 3, 0));
    ask("cuMemAddressReserve 8 G", d.cuMemAddressReserve(&va, 8 * g, 0, 0, 0));
    ask("cuMemAddressReserve at a taken address (hint)",
        d.cuMemAddressReserve(&second, 4 * g, 0, va, 0));
    note("it got another address", second != va);
    ask("cuMemCreate 2 G", d.cuMemCreate(&handle, 2 * g, &prop, 0));
    ask("cuMemMap offset in the allocation", d.cuMemMap(va, g, g, handle, 0));
    ask("cuMemMap misaligned address", d.cuMemMap(va + 4096, 2 * g, 0, handle, 0));
    ask("cuMemMap outside any range", d.cuMemMap(0x200000, 2 * g, 0, handle, 0));
    ask("cuMemMap size under the allocation's", d.cuMemMap(va, g, 0, handle, 0));
    ask("cuMemUnmap of it", d.cuMemUnmap(va, g));
    ask("cuMemMap size over the allocation's", d.cuMemMap(va, 3 * g, 0, handle, 0));
    ask("cuMemMap flags 1", d.cuMemMap(va, 2 * g, 0, handle, 1));
    ask("cuMemMap size 0", d.cuMemMap(va, 0, 0, handle, 0));
    ask("cuMemMap null handle", d.cuMemMap(va, 2 * g, 0, 0, 0));
    ask("cuMemMap", d.cuMemMap(va, 2 * g, 0, handle, 0));
    ask("cuMemMap the same place again", d.cuMemMap(va, 2 * g, 0, handle, 0));
    ask("cuMemMap overlapping by one", d.cuMemMap(va + g, 2 * g, 0, handle, 0));
    ask("cuMemMap elsewhere (alias)", d.cuMemMap(va + 2 * g, 2 * g, 0, handle, 0));
    auto access = read_write();
    unsigned long long flags = 77;
    ask("cuMemGetAccess before any is set", d.cuMemGetAccess(&flags, &access.location, va));
    note("flags", static_cast<long long>(flags));
    ask("cuMemSetAccess count 0", d.cuMemSetAccess(va, 2 * g, &access, 0));
    ask("cuMemSetAccess null", d.cuMemSetAccess(va, 2 * g, nullptr, 1));
    ask("cuMemSetAccess half a mapping", d.cuMemSetAccess(va, g, &access, 1));
    ask("cuMemSetAccess size 1", d.cuMemSetAccess(va, 1, &access, 1));
    ask("cuMemSetAccess of an unmapped part", d.cuMemSetAccess(va + 4 * g, g, &access, 1));
    ask("cuMemSetAccess mapped and unmapped", d.cuMemSetAccess(va, 6 * g, &access, 1));
    access.flags = static_cast<CUmemAccess_flags>(7);
    ask("cuMemSetAccess flags 7", d.cuMemSetAccess(va, 2 * g, &access, 1));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    access.location.id = 99;
    ask("cuMemSetAccess device 99", d.cuMemSetAccess(va, 2 * g, &access, 1));
    access.location.id = 0;
    start();
    int word = 7;
    ask("cuMemcpyHtoD without access", d.cuMemcpyHtoD(va + 2 * g, &word, 4));
    ask("cuMemsetD8 without access", d.cuMemsetD8(va + 2 * g, 0, 4));
    ask("cuMemSetAccess both", d.cuMemSetAccess(va, 4 * g, &access, 1));
    ask("cuMemGetAccess", d.cuMemGetAccess(&flags, &access.location, va));
    note("flags", static_cast<long long>(flags));
    ask("cuMemcpyHtoD", d.cuMemcpyHtoD(va + 8, &word, 4));
    word = 0;
    ask("cuMemcpyDtoH through the alias", d.cuMemcpyDtoH(&word, va + 2 * g + 8, 4));
    note("the same bytes", word);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    ask("cuMemSetAccess read-only", d.cuMemSetAccess(va + 2 * g, 2 * g, &access, 1));
    ask("cuMemcpyHtoD to read-only", d.cuMemcpyHtoD(va + 2 * g, &word, 4));
    ask("cuMemcpyDtoH from read-only", d.cuMemcpyDtoH(&word, va + 2 * g, 4));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ask("cuMemSetAccess none", d.cuMemSetAccess(va + 2 * g, 2 * g, &access, 1));
    ask("cuMemcpyDtoH then", d.cuMemcpyDtoH(&word, va + 2 * g, 4));
    CUdeviceptr base = 0;
    std::size_t size = 0;
    ask("cuMemGetAddressRange of the second mapping",
        d.cuMemGetAddressRange(&base, &size, va + 2 * g + 8));
    ask("cuMemFree of mapped memory", d.cuMemFree(va));
    ask("cuMemUnmap half", d.cuMemUnmap(va, g));
    ask("cuMemRetainAllocationHandle",
        d.cuMemRetainAllocationHandle(&other, reinterpret_cast<void *>(va + 8)));
    note("the same handle", handle == other);
    ask("cuMemRetainAllocationHandle of unmapped",
        d.cuMemRetainAllocationHandle(&other, reinterpret_cast<void *>(va + 5 * g)));
    CUmemAllocationProp told{};
    ask("cuMemGetAllocationPropertiesFromHandle",
        d.cuMemGetAllocationPropertiesFromHandle(&told, handle));
    note("location type", told.location.type);
    ask("cuMemRelease while mapped", d.cuMemRelease(handle));
    ask("cuMemRelease of the retained one", d.cuMemRelease(handle));
    ask("cuMemRelease once more", d.cuMemRelease(handle));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    ask("cuMemSetAccess after release", d.cuMemSetAccess(va, 2 * g, &access, 1));
    ask("cuMemcpyDtoH after release", d.cuMemcpyDtoH(&word, va, 4));
    ask("cuMemAddressFree while mapped", d.cuMemAddressFree(va, 8 * g));
    ask("cuMemUnmap both in one call", d.cuMemUnmap(va, 4 * g));
    ask("cuMemUnmap again", d.cuMemUnmap(va, 4 * g));
    ask("cuMemUnmap with unmapped parts", d.cuMemUnmap(va, 8 * g));
    ask("cuMemAddressFree half", d.cuMemAddressFree(va, 4 * g));
    ask("cuMemAddressFree", d.cuMemAddressFree(va, 8 * g));
    ask("cuMemAddressFree again", d.cuMemAddressFree(va, 8 * g));
    if (second) {
        d.cuMemAddressFree(second, 4 * g);
    }
}

void descriptors() {
    if (!start()) {
        return;
    }
    auto prop = device_memory();
    std::size_t g = 0;
    d.cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CUmemGenericAllocationHandle handle = 0, plain = 0, imported = 0;
    int fd = -1;
    d.cuMemCreate(&plain, g, &prop, 0);
    ask("cuMemExportToShareableHandle without a handle type",
        d.cuMemExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    d.cuMemRelease(plain);
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ask("cuMemCreate with a descriptor", d.cuMemCreate(&handle, g, &prop, 0));
    ask("cuMemExportToShareableHandle flags 1",
        d.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1));
    ask("cuMemExportToShareableHandle null",
        d.cuMemExportToShareableHandle(nullptr, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       0));
    ask("cuMemExportToShareableHandle",
        d.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    note("close-on-exec", fcntl(fd, F_GETFD) == FD_CLOEXEC);
    const auto as_handle = [](int descriptor) {
        return reinterpret_cast<void *>(static_cast<std::intptr_t>(descriptor));
    };
    ask("cuMemImportFromShareableHandle",
        d.cuMemImportFromShareableHandle(&imported, as_handle(fd),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    note("fd is open", is_open(fd));
    note("the same handle", imported == handle);
    ask("cuMemRelease of the imported", d.cuMemRelease(imported));
    const int null_device = open("/dev/null", O_RDWR);
    ask("cuMemImportFromShareableHandle of /dev/null",
        d.cuMemImportFromShareableHandle(&imported, as_handle(null_device),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    note("fd is open", is_open(null_device));
    ask("cuMemImportFromShareableHandle of -1",
        d.cuMemImportFromShareableHandle(&imported, as_handle(-1),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = dup(fd);
    desc.size = g;
    int copy = desc.handle.fd;
    CUexternalMemory memory = nullptr;
    ask("cuImportExternalMemory of a descriptor", d.cuImportExternalMemory(&memory, &desc));
    note("fd is open", is_open(copy));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
    CUdeviceptr p = 0;
    buffer.size = g;
    ask("cuExternalMemoryGetMappedBuffer", d.cuExternalMemoryGetMappedBuffer(&p, memory, &buffer));
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
    ask("cuDestroyExternalMemory before the buffers", d.cuDestroyExternalMemory(memory));
    ask("cuMemFree of the mapped buffer", d.cuMemFree(p));
    ask("cuMemFree of the second", d.cuMemFree(half));
    desc.handle.fd = dup(fd);
    copy = desc.handle.fd;
    desc.size = 0;
    ask("cuImportExternalMemory size 0", d.cuImportExternalMemory(&memory, &desc));
    note("fd is open", is_open(copy));
    desc.size = 64 * g;
    desc.handle.fd = dup(fd);
    copy = desc.handle.fd;
    ask("cuImportExternalMemory larger than it is", d.cuImportExternalMemory(&memory, &desc));
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
    ask("cuDestroyExternalMemory without a context", d.cuDestroyExternalMemory(memory));
    d.cuCtxSetCurrent(context());
    ask("mapped buffer of null", d.cuExternalMemoryGetMappedBuffer(&half, nullptr, &buffer));
    desc.size = g;
    desc.flags = 2;
    desc.handle.fd = dup(fd);
    copy = desc.handle.fd;
    ask("cuImportExternalMemory flags 2", d.cuImportExternalMemory(&memory, &desc));
    note("fd is open", is_open(copy));
    desc.flags = 0;
    desc.type = static_cast<CUexternalMemoryHandleType>(77);
    desc.handle.fd = dup(fd);
    copy = desc.handle.fd;
    ask("cuImportExternalMemory type 77", d.cuImportExternalMemory(&memory, &desc));
    note("fd is open", is_open(copy));
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
    desc.handle.win32.handle = nullptr;
    desc.handle.win32.name = nullptr;
    ask("cuImportExternalMemory of a Win32 handle", d.cuImportExternalMemory(&memory, &desc));
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = open("/dev/null", O_RDWR);
    copy = desc.handle.fd;
    ask("cuImportExternalMemory of /dev/null", d.cuImportExternalMemory(&memory, &desc));
    note("fd is open", is_open(copy));
    desc.handle.fd = -1;
    ask("cuImportExternalMemory of -1", d.cuImportExternalMemory(&memory, &desc));
    ask("cuImportExternalMemory(null)", d.cuImportExternalMemory(&memory, nullptr));
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
        ask(name.c_str(), d.cuImportExternalSemaphore(&out, &semaphore));
        if (kind == 1 || kind == 9) {
            note("fd is open", is_open(copy));
        }
    }
    ask("cuDestroyExternalMemory(null)", d.cuDestroyExternalMemory(nullptr));
    ask("cuDestroyExternalSemaphore(null)", d.cuDestroyExternalSemaphore(nullptr));
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    ask("cuSignalExternalSemaphoresAsync(0 of them)",
        d.cuSignalExternalSemaphoresAsync(&out, &signal, 0, nullptr));
    d.cuMemRelease(handle);
    close(fd);
}

void ipc() {
    if (!start()) {
        return;
    }
    CUdeviceptr p = 0, opened = 0;
    d.cuMemAlloc(&p, 1 << 20);
    CUipcMemHandle handle{}, interior{};
    ask("cuIpcGetMemHandle(null)", d.cuIpcGetMemHandle(nullptr, p));
    ask("cuIpcGetMemHandle of 0", d.cuIpcGetMemHandle(&handle, 0));
    ask("cuIpcGetMemHandle of garbage", d.cuIpcGetMemHandle(&handle, 0x1234560));
    ask("cuIpcGetMemHandle", d.cuIpcGetMemHandle(&handle, p));
    ask("cuIpcGetMemHandle of interior", d.cuIpcGetMemHandle(&interior, p + 4096));
    ask("cuIpcOpenMemHandle in the same process",
        d.cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    ask("cuIpcOpenMemHandle flags 0", d.cuIpcOpenMemHandle(&opened, handle, 0));
    ask("cuIpcOpenMemHandle flags 2", d.cuIpcOpenMemHandle(&opened, handle, 2));
    ask("cuIpcOpenMemHandle(null)", d.cuIpcOpenMemHandle(nullptr, handle, 1));
    CUipcMemHandle zeros{};
    ask("cuIpcOpenMemHandle of zeros",
        d.cuIpcOpenMemHandle(&opened, zeros, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    ask("cuIpcCloseMemHandle of own memory", d.cuIpcCloseMemHandle(p));
    ask("cuIpcCloseMemHandle of 0", d.cuIpcCloseMemHandle(0));
    CUevent event = nullptr, other = nullptr;
    ask("cuEventCreate INTERPROCESS without DISABLE_TIMING",
        d.cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    ask("cuEventCreate INTERPROCESS",
        d.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    CUipcEventHandle event_handle{};
    ask("cuIpcGetEventHandle", d.cuIpcGetEventHandle(&event_handle, event));
    ask("cuIpcOpenEventHandle in the same process", d.cuIpcOpenEventHandle(&other, event_handle));
    CUipcEventHandle no_event{};
    ask("cuIpcOpenEventHandle of zeros", d.cuIpcOpenEventHandle(&other, no_event));
    ask("cuIpcOpenEventHandle(null)", d.cuIpcOpenEventHandle(nullptr, event_handle));
    d.cuEventCreate(&other, CU_EVENT_DISABLE_TIMING);
    ask("cuIpcGetEventHandle of a plain event", d.cuIpcGetEventHandle(&event_handle, other));
    ask("cuIpcOpenEventHandle after the failed export",
        d.cuIpcOpenEventHandle(&other, event_handle));
    CUdeviceptr host = 0;
    void *pinned = nullptr;
    d.cuMemHostAlloc(&pinned, 4096, 0);
    d.cuMemHostGetDevicePointer(&host, pinned, 0);
    ask("cuIpcGetMemHandle of pinned memory", d.cuIpcGetMemHandle(&handle, host));
    d.cuMemFreeHost(pinned);
    ask("cuEventDestroy", d.cuEventDestroy(event));
    d.cuMemFree(p);
}

void pools() {
    if (!start()) {
        return;
    }
    CUmemoryPool pool = nullptr, def = nullptr, current = nullptr;
    ask("cuDeviceGetDefaultMemPool", d.cuDeviceGetDefaultMemPool(&def, 0));
    ask("cuDeviceGetMemPool", d.cuDeviceGetMemPool(&current, 0));
    note("the default is current", def == current);
    ask("cuMemPoolDestroy(default)", d.cuMemPoolDestroy(def));
    CUmemPoolProps props{};
    ask("cuMemPoolCreate of zeros", d.cuMemPoolCreate(&pool, &props));
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    ask("cuMemPoolCreate(null)", d.cuMemPoolCreate(nullptr, &props));
    props.location.id = 99;
    ask("cuMemPoolCreate device 99", d.cuMemPoolCreate(&pool, &props));
    props.location.id = 0;
    ask("cuMemPoolCreate", d.cuMemPoolCreate(&pool, &props));
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
        ask(each.name, d.cuMemPoolGetAttribute(pool, each.which, &value));
        note(each.name, static_cast<long long>(value));
    }
    ask("cuMemPoolGetAttribute 77",
        d.cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(77), &value));
    value = 5;
    ask("set RESERVED_MEM_HIGH 5",
        d.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &value));
    value = 0;
    ask("set RESERVED_MEM_HIGH 0",
        d.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &value));
    ask("set RESERVED_MEM_CURRENT",
        d.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
    CUstream stream = nullptr;
    d.cuStreamCreate(&stream, 0);
    CUdeviceptr p = 0, q = 0;
    ask("cuMemAllocAsync 0", d.cuMemAllocAsync(&p, 0, stream));
    ask("cuMemAllocAsync(null)", d.cuMemAllocAsync(nullptr, 16, stream));
    ask("cuMemAllocAsync 1 PiB", d.cuMemAllocAsync(&p, std::size_t(1) << 50, stream));
    ask("cuMemAllocFromPoolAsync", d.cuMemAllocFromPoolAsync(&p, 1000, pool, stream));
    ask("cuMemAllocFromPoolAsync(null pool)", d.cuMemAllocFromPoolAsync(&q, 1000, nullptr, stream));
    CUdeviceptr base = 0;
    std::size_t size = 0;
    ask("cuMemGetAddressRange of pool memory", d.cuMemGetAddressRange(&base, &size, p + 8));
    note("size", static_cast<long long>(size));
    d.cuStreamSynchronize(stream);
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value);
    note("used", static_cast<long long>(value));
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value);
    note("reserved", static_cast<long long>(value));
    CUipcMemHandle handle{};
    ask("cuIpcGetMemHandle of pool memory", d.cuIpcGetMemHandle(&handle, p));
    ask("cuMemFreeAsync(0)", d.cuMemFreeAsync(0, stream));
    ask("cuMemFreeAsync of garbage", d.cuMemFreeAsync(0x1234560, stream));
    ask("cuMemFreeAsync interior", d.cuMemFreeAsync(p + 8, stream));
    ask("cuMemFreeAsync", d.cuMemFreeAsync(p, stream));
    ask("cuMemFreeAsync again", d.cuMemFreeAsync(p, stream));
    d.cuStreamSynchronize(stream);
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value);
    note("used after the free", static_cast<long long>(value));
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value);
    note("reserved after the free", static_cast<long long>(value));
    ask("cuMemPoolTrimTo 0", d.cuMemPoolTrimTo(pool, 0));
    d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value);
    note("reserved after the trim", static_cast<long long>(value));
    ask("cuMemAllocAsync", d.cuMemAllocAsync(&q, 4096, stream));
    ask("cuMemFree of pool memory", d.cuMemFree(q));
    ask("cuMemAlloc, freed by cuMemFreeAsync", d.cuMemAlloc(&q, 4096));
    ask("  that free", d.cuMemFreeAsync(q, stream));
    d.cuStreamSynchronize(stream);
    CUmemAccessDesc access = read_write();
    ask("cuMemPoolSetAccess of the own device", d.cuMemPoolSetAccess(pool, &access, 1));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ask("cuMemPoolSetAccess none for the own device", d.cuMemPoolSetAccess(pool, &access, 1));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    ask("cuMemPoolSetAccess read for the own device", d.cuMemPoolSetAccess(pool, &access, 1));
    CUmemAccess_flags told{};
    ask("cuMemPoolGetAccess", d.cuMemPoolGetAccess(&told, pool, &access.location));
    note("access", told);
    int fd = -1;
    ask("cuMemPoolExportToShareableHandle without a type",
        d.cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ask("cuDeviceSetMemPool", d.cuDeviceSetMemPool(0, pool));
    ask("cuDeviceSetMemPool(null)", d.cuDeviceSetMemPool(0, nullptr));
    ask("cuMemPoolDestroy of the current", d.cuMemPoolDestroy(pool));
    d.cuDeviceGetMemPool(&current, 0);
    note("the default is current again", current == def);
    ask("cuMemPoolDestroy again", d.cuMemPoolDestroy(pool));
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ask("cuMemPoolCreate with descriptors", d.cuMemPoolCreate(&pool, &props));
    ask("cuMemPoolExportToShareableHandle",
        d.cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUmemoryPool imported = nullptr;
    ask("cuMemPoolImportFromShareableHandle in the same process",
        d.cuMemPoolImportFromShareableHandle(
            &imported, reinterpret_cast<void *>(static_cast<std::intptr_t>(fd)),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    note("fd is open", is_open(fd));
    d.cuMemAllocFromPoolAsync(&p, 4096, pool, stream);
    CUmemPoolPtrExportData data{};
    ask("cuMemPoolExportPointer", d.cuMemPoolExportPointer(&data, p));
    if (imported) {
        ask("cuMemAllocFromPoolAsync of an imported pool",
            d.cuMemAllocFromPoolAsync(&q, 16, imported, stream));
        ask("cuMemPoolImportPointer", d.cuMemPoolImportPointer(&q, imported, &data));
        ask("cuMemPoolImportPointer again", d.cuMemPoolImportPointer(&q, imported, &data));
        CUmemPoolPtrExportData zeros{};
        ask("cuMemPoolImportPointer of zeros", d.cuMemPoolImportPointer(&q, imported, &zeros));
        ask("cuMemPoolSetAttribute of an imported pool",
            d.cuMemPoolSetAttribute(imported, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
    }
    const int null_device = open("/dev/null", O_RDWR);
    ask("cuMemPoolImportFromShareableHandle of /dev/null",
        d.cuMemPoolImportFromShareableHandle(
            &imported, reinterpret_cast<void *>(static_cast<std::intptr_t>(null_device)),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    note("fd is open", is_open(null_device));
    ask("cuMemPoolDestroy with a live allocation", d.cuMemPoolDestroy(pool));
    ask("cuMemFreeAsync of it", d.cuMemFreeAsync(p, stream));
    d.cuStreamSynchronize(stream);
}

// The required order of exports: first the pool, then memory in it.
void pool_export_order() {
    if (!start()) {
        return;
    }
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemoryPool pool = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr p = 0;
    d.cuStreamCreate(&stream, 0);
    d.cuMemPoolCreate(&pool, &props);
    d.cuMemAllocFromPoolAsync(&p, 4096, pool, stream);
    d.cuStreamSynchronize(stream);
    CUmemPoolPtrExportData data{};
    ask("cuMemPoolExportPointer before its pool", d.cuMemPoolExportPointer(&data, p));
    int fd = -1;
    ask("cuMemPoolExportToShareableHandle",
        d.cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ask("cuMemPoolExportPointer", d.cuMemPoolExportPointer(&data, p));
    close(fd);
    ask("cuMemPoolExportPointer after the handle", d.cuMemPoolExportPointer(&data, p));
    d.cuMemFreeAsync(p, stream);
    d.cuStreamSynchronize(stream);
    d.cuMemPoolDestroy(pool);
    d.cuStreamDestroy(stream);
}

} // namespace record::QUESTIONS
