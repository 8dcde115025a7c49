// Runtime devices: selection, flags, limits, peers, reset.
#include "../../runtime_questions.hpp"

#include <cstring>

namespace record::QUESTIONS::runtime {
namespace {

void flags_of_devices() {
    unsigned int flags = 77;
    ASK(cudaGetDeviceFlags, "(null)", nullptr);
    ASK(cudaGetDeviceFlags, "", &flags).note("flags", flags);
    ASK(cudaSetDeviceFlags, "(0xffff)", 0xffff);
    ASK(cudaSetDeviceFlags, "(yield)", cudaDeviceScheduleYield);
    r.cudaGetDeviceFlags(&flags);
    note("flags", flags);
#if CUDART_VERSION >= 12000
    ASK(cudaInitDevice, "(1000)", 1000, 0, 0);
    ASK(cudaInitDevice, "(0, flags 0xffff, not valid)", 0, 0xffff, 0);
    ASK(cudaInitDevice, "(0, flags 0xffff, valid)", 0, 0xffff, cudaInitDeviceFlagsAreValid);
    ASK(cudaInitDevice, "(0)", 0, 0, 0);
    r.cudaGetDeviceFlags(&flags);
    note("flags", flags);
#endif
}

void bus_ids() {
    char bus[32] = "";
    int device = 77;
    ASK(cudaDeviceGetPCIBusId, "", bus, sizeof bus, 0).note("its length", std::strlen(bus));
    ASK(cudaDeviceGetPCIBusId, "(device 1000)", bus, sizeof bus, 1000);
    ASK(cudaDeviceGetPCIBusId, "(length 4)", bus, 4, 0);
    r.cudaDeviceGetPCIBusId(bus, sizeof bus, 0);
    ASK(cudaDeviceGetByPCIBusId, "", &device, bus).note("device", device);
    ASK(cudaDeviceGetByPCIBusId, "(ffff:ff:1f.7)", &device, "ffff:ff:1f.7");
    ASK(cudaDeviceGetByPCIBusId, "(garbage)", &device, "garbage");
}

} // namespace

SECTION_ONCE("devices") {
    int value = 77;
    ASK(cudaGetDeviceCount, "(null)", nullptr);
    ASK(cudaGetDeviceCount, "", &value);
    ASK(cudaGetDevice, "(null)", nullptr);
    ASK(cudaGetDevice, "", &value).note("device", value);
    ASK(cudaSetValidDevices, "(null, 1)", nullptr, 1);
    value = 0;
    ASK(cudaSetValidDevices, "({0}, 1)", &value, 1);
    ASK(cudaSetValidDevices, "({0}, -1)", &value, -1);
    ASK(cudaSetValidDevices, "(null, 0)", nullptr, 0);
    value = 1000;
    ASK(cudaSetValidDevices, "({1000}, 1)", &value, 1);
    flags_of_devices();
    ASK(cudaSetDevice, "(-1)", -1);
    ASK(cudaSetDevice, "(1000)", 1000);
    ASK(cudaSetDevice, "(0)", 0);
    cudaDeviceProp properties{};
    ASK(cudaGetDeviceProperties, "(device 1000)", &properties, 1000);
    ASK(cudaGetDeviceProperties, "", &properties, 0).note("warpSize", properties.warpSize);
    note("major", properties.major);
    note("maxThreadsPerBlock", properties.maxThreadsPerBlock);
    note("totalConstMem", properties.totalConstMem);
    note("textureAlignment", properties.textureAlignment);
    ASK(cudaChooseDevice, "", &value, &properties).note("device", value);
    ASK(cudaDeviceGetAttribute, "(warp size)", &value, cudaDevAttrWarpSize, 0);
    note("warp size", value);
    ASK(cudaDeviceGetAttribute, "(9999)", &value, static_cast<cudaDeviceAttr>(9999), 0);
    ASK(cudaDeviceGetAttribute, "(device 1000)", &value, cudaDevAttrWarpSize, 1000);
    ASK(cudaDeviceGetAttribute, "(9999, device 1000)", &value, static_cast<cudaDeviceAttr>(9999),
        1000);
    bus_ids();
    const cudaChannelFormatDesc floats =
        r.cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    std::size_t width = 0;
    ASK(cudaDeviceGetTexture1DLinearMaxWidth, "", &width, &floats, 0).note("width", width);
    ASK(cudaDeviceGetTexture1DLinearMaxWidth, "(device 1000)", &width, &floats, 1000);
}

SECTION_ONCE("limits", begin) {
    std::size_t value = 77;
    const auto unknown = static_cast<cudaLimit>(99);
    ASK(cudaDeviceGetLimit, "(stack)", &value, cudaLimitStackSize).note("stack", value);
    ASK(cudaDeviceGetLimit, "(99)", &value, unknown);
    ASK(cudaDeviceSetLimit, "(stack, 2048)", cudaLimitStackSize, 2048);
    r.cudaDeviceGetLimit(&value, cudaLimitStackSize);
    note("stack", value);
    ASK(cudaDeviceSetLimit, "(99)", unknown, 1);
    cudaFuncCache cache{};
    ASK(cudaDeviceGetCacheConfig, "", &cache).note("cache", cache);
    ASK(cudaDeviceSetCacheConfig, "(shared)", cudaFuncCachePreferShared);
    ASK(cudaDeviceSetCacheConfig, "(99)", static_cast<cudaFuncCache>(99));
    cudaSharedMemConfig shared{};
    ASK(cudaDeviceGetSharedMemConfig, "", &shared).note("bank size", shared);
    ASK(cudaDeviceSetSharedMemConfig, "(8 bytes)", cudaSharedMemBankSizeEightByte);
    ASK(cudaDeviceSetSharedMemConfig, "(99)", static_cast<cudaSharedMemConfig>(99));
    int least = 77, greatest = 77;
    ASK(cudaDeviceGetStreamPriorityRange, "", &least, &greatest).note("least", least);
    note("greatest", greatest);
    ASK(cudaDeviceGetStreamPriorityRange, "(null, null)", nullptr, nullptr);
    ASK(cudaCtxResetPersistingL2Cache, "");
    ASK(cudaDeviceSynchronize, "");
}

// With one device; two devices have their own sections.
SECTION_ONCE("peers", begin) {
    int value = 77;
    ASK(cudaDeviceCanAccessPeer, "(0, 0)", &value, 0, 0).note("can access itself", value);
    ASK(cudaDeviceCanAccessPeer, "(0, 1000)", &value, 0, 1000);
    ASK(cudaDeviceGetP2PAttribute, "(0, 0)", &value, cudaDevP2PAttrAccessSupported, 0, 0);
    ASK(cudaDeviceGetP2PAttribute, "(0, 1000)", &value, cudaDevP2PAttrAccessSupported, 0, 1000);
    ASK(cudaDeviceGetP2PAttribute, "(unknown, 0, 0)", &value, static_cast<cudaDeviceP2PAttr>(77), 0,
        0);
    ASK(cudaDeviceEnablePeerAccess, "(itself)", 0, 0);
    ASK(cudaDeviceEnablePeerAccess, "(1000)", 1000, 0);
    ASK(cudaDeviceEnablePeerAccess, "(flags 1)", 0, 1);
    ASK(cudaDeviceDisablePeerAccess, "(itself)", 0);
    ASK(cudaDeviceDisablePeerAccess, "(1000)", 1000);
#if CUDART_VERSION >= 13000
    unsigned int capabilities = 0;
    const cudaAtomicOperation add = cudaAtomicOperationIntegerAdd;
    ASK(cudaDeviceGetHostAtomicCapabilities, "", &capabilities, &add, 1, 0);
    ASK(cudaDeviceGetHostAtomicCapabilities, "(device 1000)", &capabilities, &add, 1, 1000);
    ASK(cudaDeviceGetP2PAtomicCapabilities, "(0, 1000)", &capabilities, &add, 1, 0, 1000);
#endif
}

// Only the section's own process uses this context.
SECTION_ONCE("resets", begin) {
    int device = 77;
    void *p = MAKE(cudaMalloc, 16);
    ASK(cudaSetDevice, "(1000)", 1000);
    ASK(cudaDeviceReset, "");
    ASK(cudaPeekAtLastError, "");
    ASK(cudaGetDevice, "", &device);
    ASK(cudaFree, " of memory of before", p);
    ASK(cudaGetLastError, "");
    ASK(cudaMalloc, "", &p, 16);
    ASK(cudaFree, "", p);
    ASK(cudaDeviceReset, "");
    ASK(cudaDeviceReset, " again");
}

} // namespace record::QUESTIONS::runtime
