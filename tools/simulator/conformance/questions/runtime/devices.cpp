// Runtime devices: selection, flags, limits, peers, reset.
#include "../../runtime_questions.hpp"

#include <cstring>

namespace record::QUESTIONS::runtime {
namespace {

void flags_of_devices() {
    unsigned int flags = 77;
    ask("cudaGetDeviceFlags(null)", r.cudaGetDeviceFlags(nullptr));
    ask("cudaGetDeviceFlags", r.cudaGetDeviceFlags(&flags));
    note("flags", flags);
    ask("cudaSetDeviceFlags(0xffff)", r.cudaSetDeviceFlags(0xffff));
    ask("cudaSetDeviceFlags(yield)", r.cudaSetDeviceFlags(cudaDeviceScheduleYield));
    r.cudaGetDeviceFlags(&flags);
    note("flags", flags);
#if CUDART_VERSION >= 12000
    ask("cudaInitDevice(1000)", r.cudaInitDevice(1000, 0, 0));
    ask("cudaInitDevice(0, flags 0xffff, not valid)", r.cudaInitDevice(0, 0xffff, 0));
    ask("cudaInitDevice(0, flags 0xffff, valid)",
        r.cudaInitDevice(0, 0xffff, cudaInitDeviceFlagsAreValid));
    ask("cudaInitDevice(0)", r.cudaInitDevice(0, 0, 0));
    r.cudaGetDeviceFlags(&flags);
    note("flags", flags);
#endif
}

void bus_ids() {
    char bus[32] = "";
    int device = 77;
    ask("cudaDeviceGetPCIBusId", r.cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    note("its length", static_cast<long long>(std::strlen(bus)));
    ask("cudaDeviceGetPCIBusId(device 1000)", r.cudaDeviceGetPCIBusId(bus, sizeof bus, 1000));
    ask("cudaDeviceGetPCIBusId(length 4)", r.cudaDeviceGetPCIBusId(bus, 4, 0));
    r.cudaDeviceGetPCIBusId(bus, sizeof bus, 0);
    ask("cudaDeviceGetByPCIBusId", r.cudaDeviceGetByPCIBusId(&device, bus));
    note("device", device);
    ask("cudaDeviceGetByPCIBusId(ffff:ff:1f.7)",
        r.cudaDeviceGetByPCIBusId(&device, "ffff:ff:1f.7"));
    ask("cudaDeviceGetByPCIBusId(garbage)", r.cudaDeviceGetByPCIBusId(&device, "garbage"));
}

} // namespace

void devices() {
    int value = 77;
    ask("cudaGetDeviceCount(null)", r.cudaGetDeviceCount(nullptr));
    ask("cudaGetDeviceCount", r.cudaGetDeviceCount(&value));
    ask("cudaGetDevice(null)", r.cudaGetDevice(nullptr));
    ask("cudaGetDevice", r.cudaGetDevice(&value));
    note("device", value);
    ask("cudaSetValidDevices(null, 1)", r.cudaSetValidDevices(nullptr, 1));
    value = 0;
    ask("cudaSetValidDevices({0}, 1)", r.cudaSetValidDevices(&value, 1));
    ask("cudaSetValidDevices({0}, -1)", r.cudaSetValidDevices(&value, -1));
    ask("cudaSetValidDevices(null, 0)", r.cudaSetValidDevices(nullptr, 0));
    value = 1000;
    ask("cudaSetValidDevices({1000}, 1)", r.cudaSetValidDevices(&value, 1));
    flags_of_devices();
    ask("cudaSetDevice(-1)", r.cudaSetDevice(-1));
    ask("cudaSetDevice(1000)", r.cudaSetDevice(1000));
    ask("cudaSetDevice(0)", r.cudaSetDevice(0));
    cudaDeviceProp properties{};
    ask("cudaGetDeviceProperties(device 1000)", r.cudaGetDeviceProperties(&properties, 1000));
    ask("cudaGetDeviceProperties", r.cudaGetDeviceProperties(&properties, 0));
    note("warpSize", properties.warpSize);
    note("major", properties.major);
    note("maxThreadsPerBlock", properties.maxThreadsPerBlock);
    note("totalConstMem", static_cast<long long>(properties.totalConstMem));
    note("textureAlignment", static_cast<long long>(properties.textureAlignment));
    ask("cudaChooseDevice", r.cudaChooseDevice(&value, &properties));
    note("device", value);
    ask("cudaDeviceGetAttribute(warp size)",
        r.cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    note("warp size", value);
    ask("cudaDeviceGetAttribute(9999)",
        r.cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0));
    ask("cudaDeviceGetAttribute(device 1000)",
        r.cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1000));
    ask("cudaDeviceGetAttribute(9999, device 1000)",
        r.cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 1000));
    bus_ids();
    const cudaChannelFormatDesc floats =
        r.cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    std::size_t width = 0;
    ask("cudaDeviceGetTexture1DLinearMaxWidth",
        r.cudaDeviceGetTexture1DLinearMaxWidth(&width, &floats, 0));
    note("width", static_cast<long long>(width));
    ask("cudaDeviceGetTexture1DLinearMaxWidth(device 1000)",
        r.cudaDeviceGetTexture1DLinearMaxWidth(&width, &floats, 1000));
}

void limits() {
    if (!begin()) {
        return;
    }
    std::size_t value = 77;
    const auto unknown = static_cast<cudaLimit>(99);
    ask("cudaDeviceGetLimit(stack)", r.cudaDeviceGetLimit(&value, cudaLimitStackSize));
    note("stack", static_cast<long long>(value));
    ask("cudaDeviceGetLimit(99)", r.cudaDeviceGetLimit(&value, unknown));
    ask("cudaDeviceSetLimit(stack, 2048)", r.cudaDeviceSetLimit(cudaLimitStackSize, 2048));
    r.cudaDeviceGetLimit(&value, cudaLimitStackSize);
    note("stack", static_cast<long long>(value));
    ask("cudaDeviceSetLimit(99)", r.cudaDeviceSetLimit(unknown, 1));
    cudaFuncCache cache{};
    ask("cudaDeviceGetCacheConfig", r.cudaDeviceGetCacheConfig(&cache));
    note("cache", cache);
    ask("cudaDeviceSetCacheConfig(shared)", r.cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
    ask("cudaDeviceSetCacheConfig(99)", r.cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(99)));
    cudaSharedMemConfig shared{};
    ask("cudaDeviceGetSharedMemConfig", r.cudaDeviceGetSharedMemConfig(&shared));
    note("bank size", shared);
    ask("cudaDeviceSetSharedMemConfig(8 bytes)",
        r.cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    ask("cudaDeviceSetSharedMemConfig(99)",
        r.cudaDeviceSetSharedMemConfig(static_cast<cudaSharedMemConfig>(99)));
    int least = 77, greatest = 77;
    ask("cudaDeviceGetStreamPriorityRange", r.cudaDeviceGetStreamPriorityRange(&least, &greatest));
    note("least", least);
    note("greatest", greatest);
    ask("cudaDeviceGetStreamPriorityRange(null, null)",
        r.cudaDeviceGetStreamPriorityRange(nullptr, nullptr));
    ask("cudaCtxResetPersistingL2Cache", r.cudaCtxResetPersistingL2Cache());
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
}

// With one device; two devices have their own sections.
void peers() {
    if (!begin()) {
        return;
    }
    int value = 77;
    ask("cudaDeviceCanAccessPeer(0, 0)", r.cudaDeviceCanAccessPeer(&value, 0, 0));
    note("can access itself", value);
    ask("cudaDeviceCanAccessPeer(0, 1000)", r.cudaDeviceCanAccessPeer(&value, 0, 1000));
    ask("cudaDeviceGetP2PAttribute(0, 0)",
        r.cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    ask("cudaDeviceGetP2PAttribute(0, 1000)",
        r.cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1000));
    ask("cudaDeviceGetP2PAttribute(unknown, 0, 0)",
        r.cudaDeviceGetP2PAttribute(&value, static_cast<cudaDeviceP2PAttr>(77), 0, 0));
    ask("cudaDeviceEnablePeerAccess(itself)", r.cudaDeviceEnablePeerAccess(0, 0));
    ask("cudaDeviceEnablePeerAccess(1000)", r.cudaDeviceEnablePeerAccess(1000, 0));
    ask("cudaDeviceEnablePeerAccess(flags 1)", r.cudaDeviceEnablePeerAccess(0, 1));
    ask("cudaDeviceDisablePeerAccess(itself)", r.cudaDeviceDisablePeerAccess(0));
    ask("cudaDeviceDisablePeerAccess(1000)", r.cudaDeviceDisablePeerAccess(1000));
#if CUDART_VERSION >= 13000
    unsigned int capabilities = 0;
    const cudaAtomicOperation add = cudaAtomicOperationIntegerAdd;
    ask("cudaDeviceGetHostAtomicCapabilities",
        r.cudaDeviceGetHostAtomicCapabilities(&capabilities, &add, 1, 0));
    ask("cudaDeviceGetHostAtomicCapabilities(device 1000)",
        r.cudaDeviceGetHostAtomicCapabilities(&capabilities, &add, 1, 1000));
    ask("cudaDeviceGetP2PAtomicCapabilities(0, 1000)",
        r.cudaDeviceGetP2PAtomicCapabilities(&capabilities, &add, 1, 0, 1000));
#endif
}

// Only the section's own process uses this context.
void resets() {
    if (!begin()) {
        return;
    }
    void *p = nullptr;
    int device = 77;
    r.cudaMalloc(&p, 16);
    ask("cudaSetDevice(1000)", r.cudaSetDevice(1000));
    ask("cudaDeviceReset", r.cudaDeviceReset());
    ask("cudaPeekAtLastError", r.cudaPeekAtLastError());
    ask("cudaGetDevice", r.cudaGetDevice(&device));
    ask("cudaFree of memory of before", r.cudaFree(p));
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaMalloc", r.cudaMalloc(&p, 16));
    ask("cudaFree", r.cudaFree(p));
    ask("cudaDeviceReset", r.cudaDeviceReset());
    ask("cudaDeviceReset again", r.cudaDeviceReset());
}

} // namespace record::QUESTIONS::runtime
