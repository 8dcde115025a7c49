// The runtime's memory pools and stream-ordered memory.
#include "../../runtime_questions.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace record::QUESTIONS::runtime {
namespace {

cudaMemPoolProps properties_of(int device) {
    cudaMemPoolProps properties{.allocType = cudaMemAllocationTypePinned,
                                .location = {.type = cudaMemLocationTypeDevice, .id = device}};
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
    ASK(cudaMemGetDefaultMemPool, "", &found, &here, type);
    ASK(cudaMemGetDefaultMemPool, " of device 1000", &found, &nowhere, type);
    ASK(cudaMemSetMemPool, "", &here, type, pool);
    ASK(cudaMemSetMemPool, " of device 1000", &nowhere, type, pool);
    ASK(cudaMemGetMemPool, "", &found, &here, type).note("the one that was set", found == pool);
    ASK(cudaMemGetMemPool, " of device 1000", &found, &nowhere, type);
#endif
}

} // namespace

SECTION_ONCE("pools", begin) {
    cudaMemPool_t usual = nullptr, pool = nullptr, found = nullptr;
    ASK(cudaDeviceGetDefaultMemPool, "", &usual, 0);
    ASK(cudaDeviceGetDefaultMemPool, "(1000)", &found, 1000);
    ASK(cudaDeviceGetMemPool, "", &found, 0).note("the default is current", found == usual);
    ASK(cudaDeviceGetMemPool, "(1000)", &found, 1000);
    ASK(cudaMemPoolDestroy, " of the default", usual);
    cudaMemPoolProps properties = properties_of(1000);
    ASK(cudaMemPoolCreate, " of device 1000", &pool, &properties);
    properties = properties_of(0);
    ASK(cudaMemPoolCreate, "", &pool, &properties);
    unsigned long long value = 77;
    const auto unknown = static_cast<cudaMemPoolAttr>(77);
    ASK(cudaMemPoolGetAttribute, "(threshold)", pool, cudaMemPoolAttrReleaseThreshold, &value);
    note("threshold", value);
    ASK(cudaMemPoolGetAttribute, "(77)", pool, unknown, &value);
    value = 1 << 20;
    ASK(cudaMemPoolSetAttribute, "(threshold)", pool, cudaMemPoolAttrReleaseThreshold, &value);
    ASK(cudaMemPoolSetAttribute, "(reserved now)", pool, cudaMemPoolAttrReservedMemCurrent, &value);
    cudaMemAccessDesc access{.location = properties.location,
                             .flags = cudaMemAccessFlagsProtReadWrite};
    ASK(cudaMemPoolSetAccess, " of the own device", pool, &access, 1);
    access.flags = cudaMemAccessFlagsProtNone;
    ASK(cudaMemPoolSetAccess, ", none for the own device", pool, &access, 1);
    cudaMemAccessFlags allowed{};
    cudaMemLocation location = properties.location;
    ASK(cudaMemPoolGetAccess, "", &allowed, pool, &location).note("access", allowed);
    location.id = 1000;
    ASK(cudaMemPoolGetAccess, " of device 1000", &allowed, pool, &location);
    ASK(cudaMemPoolTrimTo, "", pool, 0);
    ASK(cudaMemPoolTrimTo, "(null)", nullptr, 0);
    ASK(cudaDeviceSetMemPool, "(null)", 0, nullptr);
    ASK(cudaDeviceSetMemPool, "", 0, pool);
    ASK(cudaDeviceSetMemPool, "(1000)", 1000, pool);
    pools_of_places(pool);
    int fd = -1;
    ASK(cudaMemPoolExportToShareableHandle, " without a type", &fd, pool,
        cudaMemHandleTypePosixFileDescriptor, 0);
    ASK(cudaMemPoolDestroy, " of the current one", pool);
    r.cudaDeviceGetMemPool(&found, 0);
    note("the default is current again", found == usual);
}

SECTION_ONCE("pool_sharing", begin) {
    cudaMemPool_t pool = nullptr, imported = nullptr;
    cudaMemPoolProps properties = properties_of(0);
    const auto type = cudaMemHandleTypePosixFileDescriptor;
    properties.handleTypes = type;
    ASK(cudaMemPoolCreate, " with descriptors", &pool, &properties);
    int fd = -1;
    ASK(cudaMemPoolExportToShareableHandle, "(flags 1)", &fd, pool, type, 1);
    ASK(cudaMemPoolExportToShareableHandle, "", &fd, pool, type, 0);
    ASK(cudaMemPoolImportFromShareableHandle, "(flags 1)", &imported, as_handle(fd), type, 1);
    ASK(cudaMemPoolImportFromShareableHandle, " in the same process", &imported, as_handle(fd),
        type, 0);
    close(fd);
    void *opened = nullptr;
    cudaMemPoolPtrExportData data{}, zeros{};
    void *p = MAKE(cudaMallocFromPoolAsync, 1000, pool, nullptr);
    void *plain = MAKE(cudaMalloc, 1000);
    ASK(cudaMemPoolExportPointer, "", &data, p);
    ASK(cudaMemPoolExportPointer, " of plain memory", &zeros, plain);
    zeros = {};
    ASK(cudaMallocFromPoolAsync, " of an imported pool", &opened, 16, imported, nullptr);
    ASK(cudaMemPoolImportPointer, "", &opened, imported, &data);
    ASK(cudaFreeAsync, " of it", opened, nullptr);
    ASK(cudaMemPoolImportPointer, " of zeros", &opened, imported, &zeros);
    const int null_device = open("/dev/null", O_RDWR);
    cudaMemPool_t none = nullptr;
    ASK(cudaMemPoolImportFromShareableHandle, " of /dev/null", &none, as_handle(null_device), type,
        0);
    close(null_device);
    ASK(cudaFreeAsync, "", p, nullptr);
    ASK(cudaFree, "", plain);
    ASK(cudaDeviceSynchronize, "");
    ASK(cudaMemPoolDestroy, " of the imported one", imported);
    ASK(cudaMemPoolDestroy, "", pool);
}

SECTION("stream_memory", begin) {
    void *p = nullptr;
    cudaMemPool_t pool = MAKE(cudaDeviceGetDefaultMemPool, 0);
    cudaStream_t s = MAKE(cudaStreamCreate);
    ASK(cudaMallocAsync, " of 0", &p, 0, s).note("its pointer is null", p == nullptr);
    ASK(cudaMallocAsync, " of 2^50", &p, std::size_t(1) << 50, s);
    ASK(cudaMallocAsync, "", &p, 1000, s);
    ASK(cudaMemsetAsync, " of it", p, 1, 1000, s);
    ASK(cudaFreeAsync, " interior", static_cast<char *>(p) + 16, s);
    ASK(cudaFreeAsync, "", p, s);
    ASK(cudaFreeAsync, " again", p, s);
    ASK(cudaFreeAsync, "(null)", nullptr, s);
    ASK(cudaMallocAsync, " in the null stream", &p, 1000, nullptr);
    ASK(cudaFree, " of it", p);
    ASK(cudaMallocFromPoolAsync, "", &p, 1000, pool, s);
    ASK(cudaFreeAsync, "", p, s);
    ASK(cudaMallocFromPoolAsync, " of null", &p, 1000, nullptr, s);
    void *plain = MAKE(cudaMalloc, 1000);
    ASK(cudaFreeAsync, " of cudaMalloc's", plain, s);
    ASK(cudaStreamSynchronize, "", s);
    ASK(cudaStreamDestroy, "", s);
}

} // namespace record::QUESTIONS::runtime
