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
    void *pinned = nullptr, *managed = nullptr;
    r.cudaSetDevice(1);
    r.cudaMallocHost(&pinned, 4096);
    r.cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal);
    for (const int device : {0, 1}) {
        const std::string where = std::to_string(device) + " chosen: ";
        r.cudaSetDevice(device);
        tell_of(where + "0's memory", reinterpret_cast<void *>(of.zero.memory));
        tell_of(where + "1's memory", reinterpret_cast<void *>(of.one.memory));
        tell_of(where + "1's pinned memory", pinned);
        tell_of(where + "1's managed memory", managed);
    }
    r.cudaSetDevice(0);
    ask("cudaFreeHost", r.cudaFreeHost(pinned));
    ask("cudaFree of managed memory", r.cudaFree(managed));
}

void advise(const Sides &of) {
    constexpr std::size_t size = 2 << 20;
    void *p = nullptr;
    int last = 77;
    r.cudaSetDevice(0);
    ask("cudaMallocManaged", r.cudaMallocManaged(&p, size, cudaMemAttachGlobal));
#if CUDART_VERSION >= 13000
    cudaMemLocation one{};
    one.type = cudaMemLocationTypeDevice;
    one.id = 1;
    ask("cudaMemAdvise", r.cudaMemAdvise(p, size, cudaMemAdviseSetAccessedBy, one));
    ask("cudaMemPrefetchAsync, stream of 0",
        r.cudaMemPrefetchAsync(p, size, one, 0, of.zero.stream));
    ask("cudaMemPrefetchAsync, stream of 1",
        r.cudaMemPrefetchAsync(p, size, one, 0, of.one.stream));
#endif
    of.synchronize();
    tell("last prefetch location",
         r.cudaMemRangeGetAttribute(&last, sizeof last, cudaMemRangeAttributeLastPrefetchLocation,
                                    p, size),
         last);
    ask("cudaFree", r.cudaFree(p));
}

cudaMemAccessDesc access_of(int device, cudaMemAccessFlags flags) {
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = device;
    access.flags = flags;
    return access;
}

void change_pool(const Sides &of) {
    cudaMemPool_t pool = nullptr;
    cudaMemPoolProps properties{};
    void *p = nullptr;
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    r.cudaSetDevice(0);
    ask("cudaMemPoolCreate", r.cudaMemPoolCreate(&pool, &properties));
    const auto allow = [&](const char *question, cudaMemAccessFlags flags) {
        const cudaMemAccessDesc access = access_of(1, flags);
        cudaMemLocation one = access.location;
        cudaMemAccessFlags told{};
        ask(question, r.cudaMemPoolSetAccess(pool, &access, 1));
        tell("cudaMemPoolGetAccess", r.cudaMemPoolGetAccess(&told, pool, &one), told);
    };
    allow("cudaMemPoolSetAccess to read", cudaMemAccessFlagsProtRead);
    allow("cudaMemPoolSetAccess", cudaMemAccessFlagsProtReadWrite);
    ask("cudaMallocFromPoolAsync", r.cudaMallocFromPoolAsync(&p, 4096, pool, of.zero.stream));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(of.zero.stream));
    tell_of("its memory", p);
    r.cudaSetDevice(1);
    ask("cudaMemset where 1 is chosen", r.cudaMemset(p, 7, 16));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    ask("cudaFreeAsync in 1's stream", r.cudaFreeAsync(p, of.one.stream));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(of.one.stream));
    ask("cudaMallocFromPoolAsync in 1's stream",
        r.cudaMallocFromPoolAsync(&p, 4096, pool, of.one.stream));
    ask("cudaFreeAsync", r.cudaFreeAsync(p, of.one.stream));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(of.one.stream));
    allow("cudaMemPoolSetAccess to none", cudaMemAccessFlagsProtNone);
    ask("cudaDeviceSetMemPool(1)", r.cudaDeviceSetMemPool(1, pool));
    ask("cudaMemPoolDestroy", r.cudaMemPoolDestroy(pool));
    ask("cudaGetLastError", r.cudaGetLastError());
}

} // namespace

void runtime_memory() {
    apart("pointers", tell_pointers);
    apart("managed memory", advise);
}

void runtime_pools() {
    apart("a pool", change_pool);
}

} // namespace record::QUESTIONS::two_devices
