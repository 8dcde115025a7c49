// Process states, devices, contexts.
#include "../../record.hpp"

#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <sys/wait.h>

namespace record::QUESTIONS {

void process() {
    CUcontext current = nullptr;
    int count = 0;
    CUdeviceptr p = 0;
    const char *text = nullptr;
    ask("cuCtxGetCurrent before cuInit", d.cuCtxGetCurrent(&current));
    ask("cuDeviceGetCount before cuInit", d.cuDeviceGetCount(&count));
    ask("cuMemAlloc before cuInit", d.cuMemAlloc(&p, 16));
    ask("cuProfilerStart before cuInit", d.cuProfilerStart());
    ask("cuDriverGetVersion(null)", d.cuDriverGetVersion(nullptr));
    ask("cuGetErrorName(999999)", d.cuGetErrorName(static_cast<CUresult>(999999), &text));
    note("the name", text);
    ask("cuGetErrorString(709)", d.cuGetErrorString(static_cast<CUresult>(709), &text));
    note("the string", text);
    ask("cuInit(1)", d.cuInit(1));
    ask("cuInit(0)", d.cuInit(0));
    ask("cuInit(0) again", d.cuInit(0));
    if (!start()) {
        return;
    }
    CUevent event = nullptr;
    CUstream stream = nullptr;
    d.cuEventCreate(&event, 0);
    d.cuStreamCreate(&stream, 0);
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

void devices() {
    start();
    int value = 0;
    char name[256] = "";
    CUuuid uuid{};
    std::size_t bytes = 0;
    CUdevice device = 0;
    ask("cuDeviceGet(-1)", d.cuDeviceGet(&device, -1));
    ask("cuDeviceGet(99)", d.cuDeviceGet(&device, 99));
    ask("cuDeviceGet(null)", d.cuDeviceGet(nullptr, 0));
    ask("cuDeviceGetCount(null)", d.cuDeviceGetCount(nullptr));
    ask("cuDeviceGetName(dev 99)", d.cuDeviceGetName(name, 256, 99));
    ask("cuDeviceGetName(null)", d.cuDeviceGetName(nullptr, 256, 0));
    std::strcpy(name, "unchanged");
    ask("cuDeviceGetName(length 4)", d.cuDeviceGetName(name, 4, 0));
    note("length of the name then", static_cast<long long>(std::strlen(name)));
    ask("cuDeviceGetUuid(null)", d.cuDeviceGetUuid(nullptr, 0));
    ask("cuDeviceGetUuid", d.cuDeviceGetUuid(&uuid, 0));
    ask("cuDeviceTotalMem(null)", d.cuDeviceTotalMem(nullptr, 0));
    ask("cuDeviceTotalMem(dev 99)", d.cuDeviceTotalMem(&bytes, 99));
    ask("cuDeviceGetAttribute(unknown)",
        d.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(5000), 0));
    ask("cuDeviceGetAttribute(0)",
        d.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0));
    ask("cuDeviceGetAttribute(dev 99, unknown)",
        d.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(5000), 99));
    ask("cuDeviceGetAttribute(null)",
        d.cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    char bus[32] = "";
    ask("cuDeviceGetPCIBusId", d.cuDeviceGetPCIBusId(bus, sizeof bus, 0));
    note("its length", static_cast<long long>(std::strlen(bus)));
    ask("cuDeviceGetByPCIBusId", d.cuDeviceGetByPCIBusId(&device, bus));
    ask("cuDeviceGetByPCIBusId(lowercase/short)", d.cuDeviceGetByPCIBusId(&device, bus + 5));
    ask("cuDeviceGetByPCIBusId(ffff:ff:1f.7)", d.cuDeviceGetByPCIBusId(&device, "ffff:ff:1f.7"));
    ask("cuDeviceGetByPCIBusId(garbage)", d.cuDeviceGetByPCIBusId(&device, "garbage"));
    ask("cuDeviceGetPCIBusId(length 4)", d.cuDeviceGetPCIBusId(bus, 4, 0));
    ask("cuDeviceCanAccessPeer(0, 0)", d.cuDeviceCanAccessPeer(&value, 0, 0));
    note("can access itself", value);
    ask("cuDeviceCanAccessPeer(0, 99)", d.cuDeviceCanAccessPeer(&value, 0, 99));
    ask("cuDeviceGetP2PAttribute(0, 0)",
        d.cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
    ask("cuDeviceGetP2PAttribute(unknown, 0, 99)",
        d.cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(77), 0, 99));
    CUexecAffinityType affinity = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    ask("cuDeviceGetExecAffinitySupport", d.cuDeviceGetExecAffinitySupport(&value, affinity, 0));
    note("supported", value);
    CUdevprop properties{};
    ask("cuDeviceGetProperties", d.cuDeviceGetProperties(&properties, 0));
    note("sharedMemPerBlock", properties.sharedMemPerBlock);
    note("totalConstantMemory", properties.totalConstantMemory);
    note("memPitch", properties.memPitch);
    note("textureAlign", properties.textureAlign);
}

void attributes() {
    d.cuInit(0);
    for (int i = 0; i < 200; ++i) {
        int value = -12345;
        const CUresult status =
            d.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(i), 0);
        const std::string name = "attribute " + std::to_string(i);
        if (status == CUDA_SUCCESS) {
            note(name.c_str(), value);
        } else {
            ask(name.c_str(), status);
        }
    }
}

void contexts() {
    d.cuInit(0);
    CUcontext a = nullptr, b = nullptr, current = nullptr, popped = nullptr;
    CUdevice device = 0;
    unsigned int flags = 0, version = 0;
    unsigned long long id = 0;
    ask("cuCtxGetCurrent, none", d.cuCtxGetCurrent(&current));
    ask("cuCtxGetCurrent(null)", d.cuCtxGetCurrent(nullptr));
    ask("cuCtxGetDevice, none", d.cuCtxGetDevice(&device));
    ask("cuCtxSynchronize, none", d.cuCtxSynchronize());
    ask("cuCtxPopCurrent, none", d.cuCtxPopCurrent(&popped));
    ask("cuCtxSetCurrent(null), none", d.cuCtxSetCurrent(nullptr));
    ask("cuCtxPushCurrent(null)", d.cuCtxPushCurrent(nullptr));
    ask("cuCtxCreate_v2(null)", d.cuCtxCreate_v2(nullptr, 0, 0));
    ask("cuCtxCreate_v2(dev 99)", d.cuCtxCreate_v2(&a, 0, 99));
    ask("cuCtxCreate_v2(flags 0x80000000)", d.cuCtxCreate_v2(&a, 0x80000000u, 0));
    ask("cuCtxCreate_v2(schedule 3)", d.cuCtxCreate_v2(&a, 3, 0));
    ask("cuCtxCreate_v2 a", d.cuCtxCreate_v2(&a, CU_CTX_SCHED_YIELD, 0));
    ask("cuCtxCreate_v2 b", d.cuCtxCreate_v2(&b, 0, 0));
    d.cuCtxGetCurrent(&current);
    note("b is current", current == b);
    ask("cuCtxGetFlags", d.cuCtxGetFlags(&flags));
    note("flags of b", flags);
    ask("cuCtxGetApiVersion(null context)", d.cuCtxGetApiVersion(nullptr, &version));
    note("version", version);
    ask("cuCtxGetApiVersion(a)", d.cuCtxGetApiVersion(a, &version));
    note("version", version);
    ask("cuCtxGetId(a)", d.cuCtxGetId(a, &id));
    note("id of a", static_cast<long long>(id));
    ask("cuCtxGetId(null)", d.cuCtxGetId(nullptr, &id));
    ask("cuCtxPopCurrent", d.cuCtxPopCurrent(&popped));
    note("b was popped", popped == b);
    d.cuCtxGetCurrent(&current);
    note("a is current", current == a);
    ask("cuCtxPopCurrent(null)", d.cuCtxPopCurrent(nullptr));
    ask("cuCtxPushCurrent(b)", d.cuCtxPushCurrent(b));
    ask("cuCtxPushCurrent(b) again", d.cuCtxPushCurrent(b));
    ask("cuCtxSetCurrent(a)", d.cuCtxSetCurrent(a));
    ask("cuCtxPopCurrent", d.cuCtxPopCurrent(&popped));
    note("a was popped", popped == a);
    d.cuCtxGetCurrent(&current);
    note("b is current", current == b);
    CUevent event = nullptr;
    d.cuEventCreate(&event, 0);
    CUdeviceptr p = 0;
    d.cuMemAlloc(&p, 16);
    ask("cuCtxDestroy(b), current", d.cuCtxDestroy(b));
    d.cuCtxGetCurrent(&current);
    note("none is current", current == nullptr);
    ask("cuMemFree of b's memory", d.cuMemFree(p));
    if (start()) {
        ask("cuCtxDestroy(primary)", d.cuCtxDestroy(context()));
        ask("cuCtxEnablePeerAccess(itself)", d.cuCtxEnablePeerAccess(context(), 0));
        ask("cuCtxDisablePeerAccess(itself)", d.cuCtxDisablePeerAccess(context()));
        ask("cuCtxEnablePeerAccess(null)", d.cuCtxEnablePeerAccess(nullptr, 0));
        ask("cuCtxEnablePeerAccess(flags 1)", d.cuCtxEnablePeerAccess(context(), 1));
    }
}

void primary_context() {
    d.cuInit(0);
    unsigned int flags = 99;
    int active = 99;
    CUcontext first = nullptr, again = nullptr, current = nullptr;
    CUdeviceptr p = 0;
    ask("cuDevicePrimaryCtxGetState", d.cuDevicePrimaryCtxGetState(0, &flags, &active));
    note("active", active);
    ask("cuDevicePrimaryCtxRelease, never retained", d.cuDevicePrimaryCtxRelease(0));
    ask("cuDevicePrimaryCtxReset, never retained", d.cuDevicePrimaryCtxReset(0));
    ask("cuDevicePrimaryCtxSetFlags(schedule 3)", d.cuDevicePrimaryCtxSetFlags(0, 3));
    ask("cuDevicePrimaryCtxSetFlags(yield)", d.cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
    ask("cuDevicePrimaryCtxRetain(null)", d.cuDevicePrimaryCtxRetain(nullptr, 0));
    ask("cuDevicePrimaryCtxRetain(dev 99)", d.cuDevicePrimaryCtxRetain(&first, 99));
    ask("cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain(&first, 0));
    ask("cuDevicePrimaryCtxRetain again", d.cuDevicePrimaryCtxRetain(&again, 0));
    note("the same handle", first == again);
    d.cuCtxGetCurrent(&current);
    note("current after retain", current != nullptr);
    d.cuDevicePrimaryCtxGetState(0, &flags, &active);
    note("active", active);
    note("flags", flags);
    ask("cuDevicePrimaryCtxSetFlags while active",
        d.cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN));
    ask("cuDevicePrimaryCtxRelease", d.cuDevicePrimaryCtxRelease(0));
    d.cuCtxSetCurrent(first);
    d.cuMemAlloc(&p, 16);
    CUstream stream = nullptr;
    CUevent event = nullptr;
    d.cuStreamCreate(&stream, 0);
    d.cuEventCreate(&event, 0);
    ask("cuDevicePrimaryCtxReset", d.cuDevicePrimaryCtxReset(0));
    d.cuDevicePrimaryCtxGetState(0, &flags, &active);
    note("active", active);
    ask("cuCtxGetCurrent then", d.cuCtxGetCurrent(&current));
    note("still current", current == first);
    ask("cuMemFree then", d.cuMemFree(p));
    ask("cuEventDestroy then", d.cuEventDestroy(event));
    ask("cuCtxSetCurrent then", d.cuCtxSetCurrent(first));
    ask("cuMemAlloc then", d.cuMemAlloc(&p, 16));
    ask("cuCtxGetDevice then", d.cuCtxGetDevice(reinterpret_cast<CUdevice *>(&active)));
    ask("cuCtxSynchronize then", d.cuCtxSynchronize());
    ask("cuDevicePrimaryCtxRetain after the reset", d.cuDevicePrimaryCtxRetain(&again, 0));
    note("the same handle", first == again);
    ask("cuMemAlloc then, old handle current", d.cuMemAlloc(&p, 16));
    d.cuCtxSetCurrent(again);
    ask("cuMemAlloc then, new handle current", d.cuMemAlloc(&p, 16));
    ask("cuDevicePrimaryCtxRelease", d.cuDevicePrimaryCtxRelease(0));
    ask("cuDevicePrimaryCtxRelease", d.cuDevicePrimaryCtxRelease(0));
    ask("cuDevicePrimaryCtxRelease", d.cuDevicePrimaryCtxRelease(0));
    ask("cuMemAlloc after the last release", d.cuMemAlloc(&p, 16));
    ask("cuCtxGetCurrent", d.cuCtxGetCurrent(&current));
    note("still current", current == again);
}

void limits() {
    if (!start()) {
        return;
    }
    for (int i = 0; i < 10; ++i) {
        std::size_t value = 0;
        const std::string name = "limit " + std::to_string(i);
        const CUresult status = d.cuCtxGetLimit(&value, static_cast<CUlimit>(i));
        ask(name.c_str(), status);
        if (status == CUDA_SUCCESS) {
            note(name.c_str(), static_cast<long long>(value));
        }
    }
    int least = 99, greatest = 99;
    std::size_t value = 0;
    ask("cuCtxGetLimit(null)", d.cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
    ask("cuCtxSetLimit(stack, 4096)", d.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE);
    note("stack", static_cast<long long>(value));
    ask("cuCtxSetLimit(stack, 1000)", d.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1000));
    d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE);
    note("stack", static_cast<long long>(value));
    ask("cuCtxSetLimit(99)", d.cuCtxSetLimit(static_cast<CUlimit>(99), 1));
    ask("cuCtxGetStreamPriorityRange", d.cuCtxGetStreamPriorityRange(&least, &greatest));
    note("least", least);
    note("greatest", greatest);
    ask("cuCtxGetStreamPriorityRange(null, null)", d.cuCtxGetStreamPriorityRange(nullptr, nullptr));
    CUfunc_cache cache{};
    ask("cuCtxGetCacheConfig", d.cuCtxGetCacheConfig(&cache));
    note("cache", cache);
    ask("cuCtxSetCacheConfig(77)", d.cuCtxSetCacheConfig(static_cast<CUfunc_cache>(77)));
    CUsharedconfig shared{};
    ask("cuCtxGetSharedMemConfig", d.cuCtxGetSharedMemConfig(&shared));
    note("shared", shared);
    ask("cuCtxResetPersistingL2Cache", d.cuCtxResetPersistingL2Cache());
    ask("cuCtxSetFlags(0)", d.cuCtxSetFlags(0));
    ask("cuCtxAttach", d.cuCtxAttach(nullptr, 0));
}

} // namespace record::QUESTIONS
