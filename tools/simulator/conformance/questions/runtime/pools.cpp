// The runtime's memory pools and stream-ordered memory.
#include "../../runtime_questions.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace record::QUESTIONS::runtime {
namespace {

cudaMemPoolProps properties_of(int device) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    return properties;
}

void *as_handle(int fd) {
    return reinterpret_cast<void *>(static_cast<std::intptr_t>(fd));
}

void pools_of_places([[maybe_unused]] cudaMemPool_t pool) {
#if CUDART_VERSION >= 13000
    cudaMemLocation here{}, nowhere{};
    here.type = nowhere.type = cudaMemLocationTypeDevice;
    nowhere.id = 1000;
    const auto type = cudaMemAllocationTypePinned;
    cudaMemPool_t found = nullptr;
    ask("cudaMemGetDefaultMemPool", r.cudaMemGetDefaultMemPool(&found, &here, type));
    ask("cudaMemGetDefaultMemPool of device 1000",
        r.cudaMemGetDefaultMemPool(&found, &nowhere, type));
    ask("cudaMemSetMemPool", r.cudaMemSetMemPool(&here, type, pool));
    ask("cudaMemSetMemPool of device 1000", r.cudaMemSetMemPool(&nowhere, type, pool));
    ask("cudaMemGetMemPool", r.cudaMemGetMemPool(&found, &here, type));
    note("the one that was set", found == pool);
    ask("cudaMemGetMemPool of device 1000", r.cudaMemGetMemPool(&found, &nowhere, type));
#endif
}

} // namespace

void pools() {
    if (!begin()) {
        return;
    }
    cudaMemPool_t usual = nullptr, pool = nullptr, found = nullptr;
    ask("cudaDeviceGetDefaultMemPool", r.cudaDeviceGetDefaultMemPool(&usual, 0));
    ask("cudaDeviceGetDefaultMemPool(1000)", r.cudaDeviceGetDefaultMemPool(&found, 1000));
    ask("cudaDeviceGetMemPool", r.cudaDeviceGetMemPool(&found, 0));
    note("the default is current", found == usual);
    ask("cudaDeviceGetMemPool(1000)", r.cudaDeviceGetMemPool(&found, 1000));
    ask("cudaMemPoolDestroy of the default", r.cudaMemPoolDestroy(usual));
    cudaMemPoolProps properties = properties_of(1000);
    ask("cudaMemPoolCreate of device 1000", r.cudaMemPoolCreate(&pool, &properties));
    properties = properties_of(0);
    ask("cudaMemPoolCreate", r.cudaMemPoolCreate(&pool, &properties));
    unsigned long long value = 77;
    const auto unknown = static_cast<cudaMemPoolAttr>(77);
    ask("cudaMemPoolGetAttribute(threshold)",
        r.cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    note("threshold", static_cast<long long>(value));
    ask("cudaMemPoolGetAttribute(77)", r.cudaMemPoolGetAttribute(pool, unknown, &value));
    value = 1 << 20;
    ask("cudaMemPoolSetAttribute(threshold)",
        r.cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    ask("cudaMemPoolSetAttribute(reserved now)",
        r.cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
    cudaMemAccessDesc access{};
    access.location = properties.location;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    ask("cudaMemPoolSetAccess of the own device", r.cudaMemPoolSetAccess(pool, &access, 1));
    access.flags = cudaMemAccessFlagsProtNone;
    ask("cudaMemPoolSetAccess, none for the own device", r.cudaMemPoolSetAccess(pool, &access, 1));
    cudaMemAccessFlags allowed{};
    cudaMemLocation location = properties.location;
    ask("cudaMemPoolGetAccess", r.cudaMemPoolGetAccess(&allowed, pool, &location));
    note("access", allowed);
    location.id = 1000;
    ask("cudaMemPoolGetAccess of device 1000", r.cudaMemPoolGetAccess(&allowed, pool, &location));
    ask("cudaMemPoolTrimTo", r.cudaMemPoolTrimTo(pool, 0));
    ask("cudaMemPoolTrimTo(null)", r.cudaMemPoolTrimTo(nullptr, 0));
    ask("cudaDeviceSetMemPool(null)", r.cudaDeviceSetMemPool(0, nullptr));
    ask("cudaDeviceSetMemPool", r.cudaDeviceSetMemPool(0, pool));
    ask("cudaDeviceSetMemPool(1000)", r.cudaDeviceSetMemPool(1000, pool));
    pools_of_places(pool);
    int fd = -1;
    ask("cudaMemPoolExportToShareableHandle without a type",
        r.cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    ask("cudaMemPoolDestroy of the current one", r.cudaMemPoolDestroy(pool));
    r.cudaDeviceGetMemPool(&found, 0);
    note("the default is current again", found == usual);
}

void pool_sharing() {
    if (!begin()) {
        return;
    }
    cudaMemPool_t pool = nullptr, imported = nullptr;
    cudaMemPoolProps properties = properties_of(0);
    const auto type = cudaMemHandleTypePosixFileDescriptor;
    properties.handleTypes = type;
    ask("cudaMemPoolCreate with descriptors", r.cudaMemPoolCreate(&pool, &properties));
    int fd = -1;
    ask("cudaMemPoolExportToShareableHandle(flags 1)",
        r.cudaMemPoolExportToShareableHandle(&fd, pool, type, 1));
    ask("cudaMemPoolExportToShareableHandle",
        r.cudaMemPoolExportToShareableHandle(&fd, pool, type, 0));
    ask("cudaMemPoolImportFromShareableHandle(flags 1)",
        r.cudaMemPoolImportFromShareableHandle(&imported, as_handle(fd), type, 1));
    ask("cudaMemPoolImportFromShareableHandle in the same process",
        r.cudaMemPoolImportFromShareableHandle(&imported, as_handle(fd), type, 0));
    close(fd);
    void *p = nullptr, *plain = nullptr, *opened = nullptr;
    cudaMemPoolPtrExportData data{}, zeros{};
    r.cudaMallocFromPoolAsync(&p, 1000, pool, nullptr);
    r.cudaMalloc(&plain, 1000);
    ask("cudaMemPoolExportPointer", r.cudaMemPoolExportPointer(&data, p));
    ask("cudaMemPoolExportPointer of plain memory", r.cudaMemPoolExportPointer(&zeros, plain));
    zeros = {};
    ask("cudaMallocFromPoolAsync of an imported pool",
        r.cudaMallocFromPoolAsync(&opened, 16, imported, nullptr));
    ask("cudaMemPoolImportPointer", r.cudaMemPoolImportPointer(&opened, imported, &data));
    ask("cudaFreeAsync of it", r.cudaFreeAsync(opened, nullptr));
    ask("cudaMemPoolImportPointer of zeros", r.cudaMemPoolImportPointer(&opened, imported, &zeros));
    const int null_device = open("/dev/null", O_RDWR);
    cudaMemPool_t none = nullptr;
    ask("cudaMemPoolImportFromShareableHandle of /dev/null",
        r.cudaMemPoolImportFromShareableHandle(&none, as_handle(null_device), type, 0));
    close(null_device);
    ask("cudaFreeAsync", r.cudaFreeAsync(p, nullptr));
    ask("cudaFree", r.cudaFree(plain));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    ask("cudaMemPoolDestroy of the imported one", r.cudaMemPoolDestroy(imported));
    ask("cudaMemPoolDestroy", r.cudaMemPoolDestroy(pool));
}

void stream_memory() {
    if (!begin()) {
        return;
    }
    cudaMemPool_t pool = nullptr;
    cudaStream_t s = nullptr;
    void *p = nullptr, *plain = nullptr;
    r.cudaDeviceGetDefaultMemPool(&pool, 0);
    r.cudaStreamCreate(&s);
    ask("cudaMallocAsync of 0", r.cudaMallocAsync(&p, 0, s));
    note("its pointer is null", p == nullptr);
    ask("cudaMallocAsync of 2^50", r.cudaMallocAsync(&p, std::size_t(1) << 50, s));
    ask("cudaMallocAsync", r.cudaMallocAsync(&p, 1000, s));
    ask("cudaMemsetAsync of it", r.cudaMemsetAsync(p, 1, 1000, s));
    ask("cudaFreeAsync interior", r.cudaFreeAsync(static_cast<char *>(p) + 16, s));
    ask("cudaFreeAsync", r.cudaFreeAsync(p, s));
    ask("cudaFreeAsync again", r.cudaFreeAsync(p, s));
    ask("cudaFreeAsync(null)", r.cudaFreeAsync(nullptr, s));
    ask("cudaMallocAsync in the null stream", r.cudaMallocAsync(&p, 1000, nullptr));
    ask("cudaFree of it", r.cudaFree(p));
    ask("cudaMallocFromPoolAsync", r.cudaMallocFromPoolAsync(&p, 1000, pool, s));
    ask("cudaFreeAsync", r.cudaFreeAsync(p, s));
    ask("cudaMallocFromPoolAsync of null", r.cudaMallocFromPoolAsync(&p, 1000, nullptr, s));
    r.cudaMalloc(&plain, 1000);
    ask("cudaFreeAsync of cudaMalloc's", r.cudaFreeAsync(plain, s));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
    ask("cudaStreamDestroy", r.cudaStreamDestroy(s));
}

} // namespace record::QUESTIONS::runtime
