// Process states, devices, contexts.
#include "../../record.hpp"

#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <sys/wait.h>

namespace record::QUESTIONS {

SECTION("process") {
    CUcontext current = nullptr;
    int count = 0;
    CUdeviceptr p = 0;
    const char *text = nullptr;
    ASK(cuCtxGetCurrent, " before cuInit", &current);
    ASK(cuDeviceGetCount, " before cuInit", &count);
    ASK(cuMemAlloc, " before cuInit", &p, 16);
    ASK(cuProfilerStart, " before cuInit");
    ASK(cuDriverGetVersion, "(null)", nullptr);
    ASK(cuGetErrorName, "(999999)", static_cast<CUresult>(999999), &text).note("the name", text);
    ASK(cuGetErrorString, "(709)", static_cast<CUresult>(709), &text).note("the string", text);
    ASK(cuInit, "(1)", 1);
    ASK(cuInit, "(0)", 0);
    ASK(cuInit, "(0) again", 0);
    if (!start()) {
        return;
    }
    CUevent event = MAKE(cuEventCreate, 0);
    CUstream stream = MAKE(cuStreamCreate, 0);
    d.cuMemAlloc(&p, 16);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        ask("child: cuInit", d.cuInit(0));
        ask("child: cuCtxGetCurrent", d.cuCtxGetCurrent(&current));
        ask("child: cuDeviceGetCount", d.cuDeviceGetCount(&count));
        ask("child: cuDriverGetVersion", d.cuDriverGetVersion(&count));
        ask("child: cuMemAlloc", d.cuMemAlloc(&p, 16));
        ask("child: cuEventDestroy of the parent's", d.cuEventDestroy(event));
        std::fflush(stdout);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    ask("parent: cuStreamQuery", d.cuStreamQuery(stream));
}

SECTION("devices") {
    start();
    int value = 0;
    char name[256] = "";
    CUuuid uuid{};
    std::size_t bytes = 0;
    CUdevice device = 0;
    ASK(cuDeviceGet, "(-1)", &device, -1);
    ASK(cuDeviceGet, "(99)", &device, 99);
    ASK(cuDeviceGet, "(null)", nullptr, 0);
    ASK(cuDeviceGetCount, "(null)", nullptr);
    ASK(cuDeviceGetName, "(dev 99)", name, 256, 99);
    ASK(cuDeviceGetName, "(null)", nullptr, 256, 0);
    std::strcpy(name, "unchanged");
    ASK(cuDeviceGetName, "(length 4)", name, 4, 0);
    note("length of the name then", std::strlen(name));
    ASK(cuDeviceGetUuid, "(null)", nullptr, 0);
    ASK(cuDeviceGetUuid, "", &uuid, 0);
    ASK(cuDeviceTotalMem, "(null)", nullptr, 0);
    ASK(cuDeviceTotalMem, "(dev 99)", &bytes, 99);
    ASK(cuDeviceGetAttribute, "(unknown)", &value, static_cast<CUdevice_attribute>(5000), 0);
    ASK(cuDeviceGetAttribute, "(0)", &value, static_cast<CUdevice_attribute>(0), 0);
    ASK(cuDeviceGetAttribute, "(dev 99, unknown)", &value, static_cast<CUdevice_attribute>(5000),
        99);
    ASK(cuDeviceGetAttribute, "(null)", nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
    char bus[32] = "";
    ASK(cuDeviceGetPCIBusId, "", bus, sizeof bus, 0).note("its length", std::strlen(bus));
    ASK(cuDeviceGetByPCIBusId, "", &device, bus);
    ASK(cuDeviceGetByPCIBusId, "(lowercase/short)", &device, bus + 5);
    ASK(cuDeviceGetByPCIBusId, "(ffff:ff:1f.7)", &device, "ffff:ff:1f.7");
    ASK(cuDeviceGetByPCIBusId, "(garbage)", &device, "garbage");
    ASK(cuDeviceGetPCIBusId, "(length 4)", bus, 4, 0);
    ASK(cuDeviceCanAccessPeer, "(0, 0)", &value, 0, 0).note("can access itself", value);
    ASK(cuDeviceCanAccessPeer, "(0, 99)", &value, 0, 99);
    ASK(cuDeviceGetP2PAttribute, "(0, 0)", &value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0);
    ASK(cuDeviceGetP2PAttribute, "(unknown, 0, 99)", &value, static_cast<CUdevice_P2PAttribute>(77),
        0, 99);
    CUexecAffinityType affinity = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    ASK(cuDeviceGetExecAffinitySupport, "", &value, affinity, 0).note("supported", value);
    CUdevprop properties{};
    ASK(cuDeviceGetProperties, "", &properties, 0);
    note("sharedMemPerBlock", properties.sharedMemPerBlock);
    note("totalConstantMemory", properties.totalConstantMemory);
    note("memPitch", properties.memPitch);
    note("textureAlign", properties.textureAlign);
}

SECTION("attributes") {
    d.cuInit(0);
    for (int i = 0; i < 200; ++i) {
        int value = -12345;
        const CUresult status =
            d.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(i), 0);
        const std::string name = "attribute " + std::to_string(i);
        if (status == CUDA_SUCCESS) {
            note(name, value);
        } else {
            ask(name, status);
        }
    }
}

SECTION("contexts") {
    d.cuInit(0);
    CUcontext a = nullptr, b = nullptr, current = nullptr, popped = nullptr;
    CUdevice device = 0;
    unsigned int flags = 0, version = 0;
    unsigned long long id = 0;
    ASK(cuCtxGetCurrent, ", none", &current);
    ASK(cuCtxGetCurrent, "(null)", nullptr);
    ASK(cuCtxGetDevice, ", none", &device);
    ASK(cuCtxSynchronize, ", none");
    ASK(cuCtxPopCurrent, ", none", &popped);
    ASK(cuCtxSetCurrent, "(null), none", nullptr);
    ASK(cuCtxPushCurrent, "(null)", nullptr);
    ASK(cuCtxCreate_v2, "(null)", nullptr, 0, 0);
    ASK(cuCtxCreate_v2, "(dev 99)", &a, 0, 99);
    ASK(cuCtxCreate_v2, "(flags 0x80000000)", &a, 0x80000000u, 0);
    ASK(cuCtxCreate_v2, "(schedule 3)", &a, 3, 0);
    ASK(cuCtxCreate_v2, " a", &a, CU_CTX_SCHED_YIELD, 0);
    ASK(cuCtxCreate_v2, " b", &b, 0, 0);
    d.cuCtxGetCurrent(&current);
    note("b is current", current == b);
    ASK(cuCtxGetFlags, "", &flags).note("flags of b", flags);
    ASK(cuCtxGetApiVersion, "(null context)", nullptr, &version).note("version", version);
    ASK(cuCtxGetApiVersion, "(a)", a, &version).note("version", version);
    ASK(cuCtxGetId, "(a)", a, &id).note("id of a", id);
    ASK(cuCtxGetId, "(null)", nullptr, &id);
    ASK(cuCtxPopCurrent, "", &popped).note("b was popped", popped == b);
    d.cuCtxGetCurrent(&current);
    note("a is current", current == a);
    ASK(cuCtxPopCurrent, "(null)", nullptr);
    ASK(cuCtxPushCurrent, "(b)", b);
    ASK(cuCtxPushCurrent, "(b) again", b);
    ASK(cuCtxSetCurrent, "(a)", a);
    ASK(cuCtxPopCurrent, "", &popped).note("a was popped", popped == a);
    d.cuCtxGetCurrent(&current);
    note("b is current", current == b);
    MAKE(cuEventCreate, 0);
    CUdeviceptr p = MAKE(cuMemAlloc, 16);
    ASK(cuCtxDestroy, "(b), current", b);
    d.cuCtxGetCurrent(&current);
    note("none is current", current == nullptr);
    ASK(cuMemFree, " of b's memory", p);
    if (start()) {
        ASK(cuCtxDestroy, "(primary)", context());
        ASK(cuCtxEnablePeerAccess, "(itself)", context(), 0);
        ASK(cuCtxDisablePeerAccess, "(itself)", context());
        ASK(cuCtxEnablePeerAccess, "(null)", nullptr, 0);
        ASK(cuCtxEnablePeerAccess, "(flags 1)", context(), 1);
    }
}

SECTION("primary_context") {
    d.cuInit(0);
    unsigned int flags = 99;
    int active = 99;
    CUcontext first = nullptr, again = nullptr;
    ASK(cuDevicePrimaryCtxGetState, "", 0, &flags, &active).note("active", active);
    ASK(cuDevicePrimaryCtxRelease, ", never retained", 0);
    ASK(cuDevicePrimaryCtxReset, ", never retained", 0);
    ASK(cuDevicePrimaryCtxSetFlags, "(schedule 3)", 0, 3);
    ASK(cuDevicePrimaryCtxSetFlags, "(yield)", 0, CU_CTX_SCHED_YIELD);
    ASK(cuDevicePrimaryCtxRetain, "(null)", nullptr, 0);
    ASK(cuDevicePrimaryCtxRetain, "(dev 99)", &first, 99);
    ASK(cuDevicePrimaryCtxRetain, "", &first, 0);
    ASK(cuDevicePrimaryCtxRetain, " again", &again, 0).note("the same handle", first == again);
    CUcontext current = MAKE(cuCtxGetCurrent);
    note("current after retain", current != nullptr);
    d.cuDevicePrimaryCtxGetState(0, &flags, &active);
    note("active", active);
    note("flags", flags);
    ASK(cuDevicePrimaryCtxSetFlags, " while active", 0, CU_CTX_SCHED_SPIN);
    ASK(cuDevicePrimaryCtxRelease, "", 0);
    d.cuCtxSetCurrent(first);
    CUdeviceptr p = MAKE(cuMemAlloc, 16);
    MAKE(cuStreamCreate, 0);
    CUevent event = MAKE(cuEventCreate, 0);
    ASK(cuDevicePrimaryCtxReset, "", 0);
    d.cuDevicePrimaryCtxGetState(0, &flags, &active);
    note("active", active);
    ASK(cuCtxGetCurrent, " then", &current).note("still current", current == first);
    ASK(cuMemFree, " then", p);
    ASK(cuEventDestroy, " then", event);
    ASK(cuCtxSetCurrent, " then", first);
    ASK(cuMemAlloc, " then", &p, 16);
    ASK(cuCtxGetDevice, " then", reinterpret_cast<CUdevice *>(&active));
    ASK(cuCtxSynchronize, " then");
    ASK(cuDevicePrimaryCtxRetain, " after the reset", &again, 0);
    note("the same handle", first == again);
    ASK(cuMemAlloc, " then, old handle current", &p, 16);
    d.cuCtxSetCurrent(again);
    ASK(cuMemAlloc, " then, new handle current", &p, 16);
    ASK(cuDevicePrimaryCtxRelease, "", 0);
    ASK(cuDevicePrimaryCtxRelease, "", 0);
    ASK(cuDevicePrimaryCtxRelease, "", 0);
    ASK(cuMemAlloc, " after the last release", &p, 16);
    ASK(cuCtxGetCurrent, "", &current).note("still current", current == again);
}

SECTION("limits", start) {
    for (int i = 0; i < 10; ++i) {
        std::size_t value = 0;
        const std::string name = "limit " + std::to_string(i);
        const CUresult status = d.cuCtxGetLimit(&value, static_cast<CUlimit>(i));
        ask(name, status);
        if (status == CUDA_SUCCESS) {
            note(name, value);
        }
    }
    int least = 99, greatest = 99;
    std::size_t value = 0;
    ASK(cuCtxGetLimit, "(null)", nullptr, CU_LIMIT_STACK_SIZE);
    ASK(cuCtxSetLimit, "(stack, 4096)", CU_LIMIT_STACK_SIZE, 4096);
    d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE);
    note("stack", value);
    ASK(cuCtxSetLimit, "(stack, 1000)", CU_LIMIT_STACK_SIZE, 1000);
    d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE);
    note("stack", value);
    ASK(cuCtxSetLimit, "(99)", static_cast<CUlimit>(99), 1);
    ASK(cuCtxGetStreamPriorityRange, "", &least, &greatest).note("least", least);
    note("greatest", greatest);
    ASK(cuCtxGetStreamPriorityRange, "(null, null)", nullptr, nullptr);
    CUfunc_cache cache{};
    ASK(cuCtxGetCacheConfig, "", &cache).note("cache", cache);
    ASK(cuCtxSetCacheConfig, "(77)", static_cast<CUfunc_cache>(77));
    CUsharedconfig shared{};
    ASK(cuCtxGetSharedMemConfig, "", &shared).note("shared", shared);
    ASK(cuCtxResetPersistingL2Cache, "");
    ASK(cuCtxSetFlags, "(0)", 0);
    ASK(cuCtxAttach, "", nullptr, 0);
}

} // namespace record::QUESTIONS
