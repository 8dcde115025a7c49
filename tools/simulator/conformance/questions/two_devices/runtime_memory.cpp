// Runtime memory of two devices: pointer attributes, advice, pools.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

void tell_of(const std::string &what, const void *p) {
    cudaPointerAttributes told{};
    const cudaError_t status = r.cudaPointerGetAttributes(&told, p);
    tell(what + ": type", status, told.type);
    tell(what + ": device", status, told.device);
    tell(what + ": a device pointer", status, told.devicePointer != nullptr);
    tell(what + ": a host pointer", status, told.hostPointer != nullptr);
}

void tell_pointers(const Sides &of) {
    r.cudaSetDevice(1);
    void *pinned = MAKE(cudaMallocHost, 4096);
    void *managed = MAKE(cudaMallocManaged, 4096, cudaMemAttachGlobal);
    for (const int device : {0, 1}) {
        const std::string where = std::to_string(device) + " chosen: ";
        r.cudaSetDevice(device);
        tell_of(where + "0's memory", reinterpret_cast<void *>(of.zero.memory));
        tell_of(where + "1's memory", reinterpret_cast<void *>(of.one.memory));
        tell_of(where + "1's pinned memory", pinned);
        tell_of(where + "1's managed memory", managed);
    }
    r.cudaSetDevice(0);
    ASK(cudaFreeHost, "", pinned);
    ASK(cudaFree, " of managed memory", managed);
}

void advise(const Sides &of) {
    constexpr std::size_t size = 2 << 20;
    void *p = nullptr;
    int last = 77;
    r.cudaSetDevice(0);
    ASK(cudaMallocManaged, "", &p, size, cudaMemAttachGlobal);
#if CUDART_VERSION >= 13000
    cudaMemLocation one{.type = cudaMemLocationTypeDevice, .id = 1};
    ASK(cudaMemAdvise, "", p, size, cudaMemAdviseSetAccessedBy, one);
    ASK(cudaMemPrefetchAsync, ", stream of 0", p, size, one, 0, of.zero.stream);
    ASK(cudaMemPrefetchAsync, ", stream of 1", p, size, one, 0, of.one.stream);
#endif
    of.synchronize();
    tell("last prefetch location",
         r.cudaMemRangeGetAttribute(&last, sizeof last, cudaMemRangeAttributeLastPrefetchLocation,
                                    p, size),
         last);
    ASK(cudaFree, "", p);
}

cudaMemAccessDesc access_of(int device, cudaMemAccessFlags flags) {
    cudaMemAccessDesc access{.location = {.type = cudaMemLocationTypeDevice, .id = device},
                             .flags = flags};
    return access;
}

void change_pool(const Sides &of) {
    cudaMemPool_t pool = nullptr;
    cudaMemPoolProps properties{};
    void *p = nullptr;
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    r.cudaSetDevice(0);
    ASK(cudaMemPoolCreate, "", &pool, &properties);
    const auto allow = [&](const char *question, cudaMemAccessFlags flags) {
        const cudaMemAccessDesc access = access_of(1, flags);
        cudaMemLocation one = access.location;
        cudaMemAccessFlags told{};
        ask(question, r.cudaMemPoolSetAccess(pool, &access, 1));
        tell("cudaMemPoolGetAccess", r.cudaMemPoolGetAccess(&told, pool, &one), told);
    };
    allow("cudaMemPoolSetAccess to read", cudaMemAccessFlagsProtRead);
    allow("cudaMemPoolSetAccess", cudaMemAccessFlagsProtReadWrite);
    ASK(cudaMallocFromPoolAsync, "", &p, 4096, pool, of.zero.stream);
    ASK(cudaStreamSynchronize, "", of.zero.stream);
    tell_of("its memory", p);
    r.cudaSetDevice(1);
    ASK(cudaMemset, " where 1 is chosen", p, 7, 16);
    ASK(cudaDeviceSynchronize, "");
    ASK(cudaFreeAsync, " in 1's stream", p, of.one.stream);
    ASK(cudaStreamSynchronize, "", of.one.stream);
    ASK(cudaMallocFromPoolAsync, " in 1's stream", &p, 4096, pool, of.one.stream);
    ASK(cudaFreeAsync, "", p, of.one.stream);
    ASK(cudaStreamSynchronize, "", of.one.stream);
    allow("cudaMemPoolSetAccess to none", cudaMemAccessFlagsProtNone);
    ASK(cudaDeviceSetMemPool, "(1)", 1, pool);
    ASK(cudaMemPoolDestroy, "", pool);
    ASK(cudaGetLastError, "");
}

} // namespace

SECTION("runtime memory") {
    apart("pointers", tell_pointers);
    apart("managed memory", advise);
}

SECTION("runtime pools") {
    apart("a pool", change_pool);
}

} // namespace record::QUESTIONS::two_devices
