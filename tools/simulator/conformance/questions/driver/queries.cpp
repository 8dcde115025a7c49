// Further device and context queries, notifications, the error log, flushes, contexts of newer
// ABIs.
#include "../../record.hpp"

namespace record::QUESTIONS {

void before_init() {
    ask("cuCtxSetCurrent", d.cuCtxSetCurrent(nullptr));
    ask("cuProfilerStop", d.cuProfilerStop());
    ask("cuStreamCopyAttributes", d.cuStreamCopyAttributes(nullptr, nullptr));
    ask("cuStreamCopyAttributes_ptsz", d.cuStreamCopyAttributes_ptsz(nullptr, nullptr));
    ask("cuArrayDestroy", d.cuArrayDestroy(nullptr));
}

// Calls that fail before cuInit but rarely afterwards.
void rarely_failing() {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUmoduleLoadingMode loading{};
    unsigned int base = 0, size = 0; // 32-bit addresses of the first ABI
    ask("cuThreadExchangeStreamCaptureMode before cuInit",
        d.cuThreadExchangeStreamCaptureMode(&mode));
    ask("cuModuleGetLoadingMode before cuInit", d.cuModuleGetLoadingMode(&loading));
    ask("cuTexObjectDestroy(0) before cuInit", d.cuTexObjectDestroy(0));
    ask("cuSurfObjectDestroy(0) before cuInit", d.cuSurfObjectDestroy(0));
    ask("cuMemGetAddressRange_v1 before cuInit", d.cuMemGetAddressRange_v1(&base, &size, 0));
    if (start()) {
        ask("cuMemGetAddressRange_v1", d.cuMemGetAddressRange_v1(&base, &size, 0));
    }
}

namespace {

void error_log() {
#if CUDA_VERSION >= 12090
    CUlogIterator iterator = 0;
    ask("cuLogsCurrent(flags 1)", d.cuLogsCurrent(&iterator, 1));
    ask("cuLogsCurrent", d.cuLogsCurrent(&iterator, 0));
    CUlogsCallbackHandle handle = nullptr;
    const CUlogsCallback line = [](void *, CUlogLevel, char *, std::size_t) {};
    ask("cuLogsRegisterCallback(null)", d.cuLogsRegisterCallback(nullptr, nullptr, &handle));
    const CUresult registered = d.cuLogsRegisterCallback(line, nullptr, &handle);
    ask("cuLogsRegisterCallback", registered);
    if (registered == CUDA_SUCCESS) {
        ask("cuLogsUnregisterCallback", d.cuLogsUnregisterCallback(handle));
    }
    ask("cuLogsUnregisterCallback(null)", d.cuLogsUnregisterCallback(nullptr));
    char buffer[4096] = "";
    std::size_t size = sizeof buffer;
    ask("cuLogsDumpToMemory(null)", d.cuLogsDumpToMemory(nullptr, nullptr, &size, 0));
    size = sizeof buffer;
    ask("cuLogsDumpToMemory", d.cuLogsDumpToMemory(nullptr, buffer, &size, 0));
    size = 2;
    ask("cuLogsDumpToMemory into 2 bytes", d.cuLogsDumpToMemory(nullptr, buffer, &size, 0));
    note("bytes", static_cast<long long>(size));
    ask("cuLogsDumpToFile(null)", d.cuLogsDumpToFile(nullptr, nullptr, 0));
    ask("cuLogsDumpToFile", d.cuLogsDumpToFile(nullptr, "/dev/null", 0));
#endif
}

void flushes() {
    ask("cuFlushGPUDirectRDMAWrites(target 77)",
        d.cuFlushGPUDirectRDMAWrites(static_cast<CUflushGPUDirectRDMAWritesTarget>(77),
                                     CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    ask("cuFlushGPUDirectRDMAWrites",
        d.cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                     CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
}

} // namespace

void device_queries() {
    start();
    CUdevice device = 99;
    int value = 0, minor = 0;
    std::size_t bytes = 0;
    CUuuid uuid{};
    const char *text = nullptr;
    ask("cuDeviceGet", d.cuDeviceGet(&device, 0));
    ask("cuDeviceGetCount", d.cuDeviceGetCount(&value));
    ask("cuDeviceTotalMem", d.cuDeviceTotalMem(&bytes, 0));
    ask("cuDeviceGetUuid", d.cuDeviceGetUuid(&uuid, 0));
    ask("cuDeviceComputeCapability", d.cuDeviceComputeCapability(&value, &minor, 0));
    ask("cuDeviceComputeCapability dev 99", d.cuDeviceComputeCapability(&value, &minor, 99));
    ask("cuDeviceGetTexture1DLinearMaxWidth",
        d.cuDeviceGetTexture1DLinearMaxWidth(&bytes, CU_AD_FORMAT_FLOAT, 1, 0));
    note("elements", static_cast<long long>(bytes));
    ask("cuDeviceGetTexture1DLinearMaxWidth, 3 channels",
        d.cuDeviceGetTexture1DLinearMaxWidth(&bytes, CU_AD_FORMAT_FLOAT, 3, 0));
    ask("cuDeviceGetDefaultMemPool dev 99", [] {
        CUmemoryPool pool = nullptr;
        return d.cuDeviceGetDefaultMemPool(&pool, 99);
    }());
    ask("cuGetErrorName(1)", d.cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
    note("the name", text);
    ask("cuGetErrorString(1)", d.cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
    note("the string", text);
    ask("cuGetErrorString(999999)", d.cuGetErrorString(static_cast<CUresult>(999999), &text));
    CUasyncCallbackHandle callback = nullptr;
    const CUresult registered = d.cuDeviceRegisterAsyncNotification(
        0, [](CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {}, nullptr, &callback);
    ask("cuDeviceRegisterAsyncNotification", registered);
    if (registered == CUDA_SUCCESS) {
        ask("cuDeviceUnregisterAsyncNotification",
            d.cuDeviceUnregisterAsyncNotification(0, callback));
    }
    ask("cuProfilerStart", d.cuProfilerStart());
    ask("cuProfilerStop", d.cuProfilerStop());
    error_log();
    flushes();
}

void context_queries() {
    d.cuInit(0);
    CUcontext a = nullptr;
    CUdevice device = 99;
    CUfunc_cache cache{};
    CUsharedconfig shared{};
    int least = 0, greatest = 0;
    unsigned int flags = 0;
    unsigned long long id = 0;
    std::size_t value = 0;
    ask("cuCtxGetCacheConfig, none", d.cuCtxGetCacheConfig(&cache));
    ask("cuCtxSetCacheConfig, none", d.cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    ask("cuCtxGetSharedMemConfig, none", d.cuCtxGetSharedMemConfig(&shared));
    ask("cuCtxSetSharedMemConfig, none",
        d.cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
    ask("cuCtxGetStreamPriorityRange, none", d.cuCtxGetStreamPriorityRange(&least, &greatest));
    ask("cuCtxResetPersistingL2Cache, none", d.cuCtxResetPersistingL2Cache());
    ask("cuCtxGetFlags, none", d.cuCtxGetFlags(&flags));
    ask("cuCtxSetFlags, none", d.cuCtxSetFlags(0));
    ask("cuCtxGetLimit, none", d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    ask("cuCtxGetId, none", d.cuCtxGetId(nullptr, &id));
    ask("cuCtxSynchronize_v2(null), none", d.cuCtxSynchronize_v2(nullptr));
    ask("cuCtxGetDevice_v2(null), none", d.cuCtxGetDevice_v2(&device, nullptr));
    ask("cuCtxCreate_v3", d.cuCtxCreate_v3(&a, nullptr, 0, 0, 0));
    ask("cuCtxGetDevice_v2", d.cuCtxGetDevice_v2(&device, a));
    note("device", device);
    ask("cuCtxSynchronize_v2", d.cuCtxSynchronize_v2(a));
    ask("cuCtxSetCacheConfig", d.cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    ask("cuCtxSetSharedMemConfig",
        d.cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
    ask("cuCtxSetSharedMemConfig 77", d.cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(77)));
    ask("cuCtxSetFlags 0x80000000", d.cuCtxSetFlags(0x80000000u));
    CUevent event = nullptr;
    d.cuEventCreate(&event, 0);
    ask("cuCtxRecordEvent", d.cuCtxRecordEvent(a, event));
    ask("cuCtxWaitEvent", d.cuCtxWaitEvent(a, event));
    d.cuEventDestroy(event);
    ask("cuCtxDestroy", d.cuCtxDestroy(a));
    CUctxCreateParams params{};
    ask("cuCtxCreate_v4", d.cuCtxCreate_v4(&a, &params, 0, 0));
    ask("cuCtxDestroy", d.cuCtxDestroy(a));
    ask("cuCtxCreate_v4 without parameters", d.cuCtxCreate_v4(&a, nullptr, 0, 0));
    ask("cuCtxDestroy", d.cuCtxDestroy(a));
    ask("cuCtxCreate_v4 dev 99", d.cuCtxCreate_v4(&a, nullptr, 0, 99));
    CUexecAffinityParam affinity{};
    affinity.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    affinity.param.smCount.val = 2;
    ask("cuCtxCreate_v3 with 2 multiprocessors, without MPS",
        d.cuCtxCreate_v3(&a, &affinity, 1, 0, 0));
}

void green_contexts() {
    if (!start()) {
        return;
    }
    CUdevResource all{}, part{}, rest{}, told{};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr, of = nullptr;
    CUcontext converted = nullptr;
    unsigned int groups = 1;
    unsigned long long id = 0;
    ask("cuDeviceGetDevResource", d.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    note("multiprocessors", all.sm.smCount);
    ask("cuDeviceGetDevResource dev 99",
        d.cuDeviceGetDevResource(99, &told, CU_DEV_RESOURCE_TYPE_SM));
    ask("cuDeviceGetDevResource type 77",
        d.cuDeviceGetDevResource(0, &told, static_cast<CUdevResourceType>(77)));
    ask("cuCtxGetDevResource", d.cuCtxGetDevResource(context(), &told, CU_DEV_RESOURCE_TYPE_SM));
    note("multiprocessors", told.sm.smCount);
    ask("cuDevSmResourceSplitByCount",
        d.cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, 16));
    note("groups", groups);
    note("multiprocessors of the group", part.sm.smCount);
    note("multiprocessors that are left", rest.sm.smCount);
    groups = 1;
    ask("cuDevSmResourceSplitByCount of 100000",
        d.cuDevSmResourceSplitByCount(&told, &groups, &all, nullptr, 0, 100000));
    ask("cuDevResourceGenerateDesc", d.cuDevResourceGenerateDesc(&description, &part, 1));
    ask("cuGreenCtxCreate flags 0", d.cuGreenCtxCreate(&of, description, 0, 0));
    const CUresult created =
        d.cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    ask("cuGreenCtxCreate", created);
    if (created != CUDA_SUCCESS) {
        return;
    }
    ask("cuGreenCtxCreate dev 99",
        d.cuGreenCtxCreate(&of, description, 99, CU_GREEN_CTX_DEFAULT_STREAM));
    ask("cuGreenCtxGetDevResource",
        d.cuGreenCtxGetDevResource(green, &told, CU_DEV_RESOURCE_TYPE_SM));
    note("multiprocessors", told.sm.smCount);
    ask("cuGreenCtxGetId", d.cuGreenCtxGetId(green, &id));
    ask("cuCtxFromGreenCtx", d.cuCtxFromGreenCtx(&converted, green));
    CUstream s = nullptr, plain = nullptr;
    CUevent event = nullptr;
    d.cuEventCreate(&event, 0);
    ask("cuGreenCtxStreamCreate, blocking",
        d.cuGreenCtxStreamCreate(&plain, green, CU_STREAM_DEFAULT, 0));
    ask("cuGreenCtxStreamCreate", d.cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0));
    d.cuStreamCreate(&plain, 0);
    ask("cuStreamGetGreenCtx", d.cuStreamGetGreenCtx(s, &of));
    note("the green context", of == green);
    ask("cuStreamGetGreenCtx of a plain stream", d.cuStreamGetGreenCtx(plain, &of));
    note("none", of == nullptr);
    ask("cuGreenCtxRecordEvent of another context's event", d.cuGreenCtxRecordEvent(green, event));
    d.cuCtxPushCurrent(converted);
    CUevent inner = nullptr;
    d.cuEventCreate(&inner, 0);
    d.cuCtxPopCurrent(nullptr);
    ask("cuGreenCtxRecordEvent", d.cuGreenCtxRecordEvent(green, inner));
    ask("cuGreenCtxWaitEvent", d.cuGreenCtxWaitEvent(green, inner));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    d.cuEventDestroy(inner);
    d.cuEventDestroy(event);
    d.cuStreamDestroy(plain);
    ask("cuStreamDestroy", d.cuStreamDestroy(s));
    ask("cuGreenCtxDestroy", d.cuGreenCtxDestroy(green));
}

} // namespace record::QUESTIONS
