// Further device and context queries, notifications, the error log, flushes, contexts of newer
// ABIs.
#include "../../record.hpp"

namespace record::QUESTIONS {

SECTION("before_init") {
    ASK(cuCtxSetCurrent, "", nullptr);
    ASK(cuProfilerStop, "");
    ASK(cuStreamCopyAttributes, "", nullptr, nullptr);
    ASK(cuStreamCopyAttributes_ptsz, "", nullptr, nullptr);
    ASK(cuArrayDestroy, "", nullptr);
}

// Calls that fail before cuInit but rarely afterwards.
SECTION("rarely_failing") {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUmoduleLoadingMode loading{};
    unsigned int base = 0, size = 0; // 32-bit addresses of the first ABI
    ASK(cuThreadExchangeStreamCaptureMode, " before cuInit", &mode);
    ASK(cuModuleGetLoadingMode, " before cuInit", &loading);
    ASK(cuTexObjectDestroy, "(0) before cuInit", 0);
    ASK(cuSurfObjectDestroy, "(0) before cuInit", 0);
    ASK(cuMemGetAddressRange_v1, " before cuInit", &base, &size, 0);
    if (start()) {
        ASK(cuMemGetAddressRange_v1, "", &base, &size, 0);
    }
}

namespace {

void error_log() {
#if CUDA_VERSION >= 12090
    CUlogIterator iterator = 0;
    ASK(cuLogsCurrent, "(flags 1)", &iterator, 1);
    ASK(cuLogsCurrent, "", &iterator, 0);
    CUlogsCallbackHandle handle = nullptr;
    const CUlogsCallback line = [](void *, CUlogLevel, char *, std::size_t) {};
    ASK(cuLogsRegisterCallback, "(null)", nullptr, nullptr, &handle);
    const CUresult registered = d.cuLogsRegisterCallback(line, nullptr, &handle);
    ask("cuLogsRegisterCallback", registered);
    if (registered == CUDA_SUCCESS) {
        ASK(cuLogsUnregisterCallback, "", handle);
    }
    ASK(cuLogsUnregisterCallback, "(null)", nullptr);
    char buffer[4096] = "";
    std::size_t size = sizeof buffer;
    ASK(cuLogsDumpToMemory, "(null)", nullptr, nullptr, &size, 0);
    size = sizeof buffer;
    ASK(cuLogsDumpToMemory, "", nullptr, buffer, &size, 0);
    size = 2;
    ASK(cuLogsDumpToMemory, " into 2 bytes", nullptr, buffer, &size, 0).note("bytes", size);
    ASK(cuLogsDumpToFile, "(null)", nullptr, nullptr, 0);
    ASK(cuLogsDumpToFile, "", nullptr, "/dev/null", 0);
#endif
}

void flushes() {
    ASK(cuFlushGPUDirectRDMAWrites, "(target 77)",
        static_cast<CUflushGPUDirectRDMAWritesTarget>(77),
        CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
    ASK(cuFlushGPUDirectRDMAWrites, "", CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
        CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
}

} // namespace

SECTION("device_queries") {
    start();
    CUdevice device = 99;
    int value = 0, minor = 0;
    std::size_t bytes = 0;
    CUuuid uuid{};
    const char *text = nullptr;
    ASK(cuDeviceGet, "", &device, 0);
    ASK(cuDeviceGetCount, "", &value);
    ASK(cuDeviceTotalMem, "", &bytes, 0);
    ASK(cuDeviceGetUuid, "", &uuid, 0);
    ASK(cuDeviceComputeCapability, "", &value, &minor, 0);
    ASK(cuDeviceComputeCapability, " dev 99", &value, &minor, 99);
    ASK(cuDeviceGetTexture1DLinearMaxWidth, "", &bytes, CU_AD_FORMAT_FLOAT, 1, 0);
    note("elements", bytes);
    ASK(cuDeviceGetTexture1DLinearMaxWidth, ", 3 channels", &bytes, CU_AD_FORMAT_FLOAT, 3, 0);
    ask("cuDeviceGetDefaultMemPool dev 99", [] {
        CUmemoryPool pool = nullptr;
        return d.cuDeviceGetDefaultMemPool(&pool, 99);
    }());
    ASK(cuGetErrorName, "(1)", CUDA_ERROR_INVALID_VALUE, &text).note("the name", text);
    ASK(cuGetErrorString, "(1)", CUDA_ERROR_INVALID_VALUE, &text).note("the string", text);
    ASK(cuGetErrorString, "(999999)", static_cast<CUresult>(999999), &text);
    CUasyncCallbackHandle callback = nullptr;
    const CUresult registered = d.cuDeviceRegisterAsyncNotification(
        0, [](CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {}, nullptr, &callback);
    ask("cuDeviceRegisterAsyncNotification", registered);
    if (registered == CUDA_SUCCESS) {
        ASK(cuDeviceUnregisterAsyncNotification, "", 0, callback);
    }
    ASK(cuProfilerStart, "");
    ASK(cuProfilerStop, "");
    error_log();
    flushes();
}

SECTION("context_queries") {
    d.cuInit(0);
    CUcontext a = nullptr;
    CUdevice device = 99;
    CUfunc_cache cache{};
    CUsharedconfig shared{};
    int least = 0, greatest = 0;
    unsigned int flags = 0;
    unsigned long long id = 0;
    std::size_t value = 0;
    ASK(cuCtxGetCacheConfig, ", none", &cache);
    ASK(cuCtxSetCacheConfig, ", none", CU_FUNC_CACHE_PREFER_L1);
    ASK(cuCtxGetSharedMemConfig, ", none", &shared);
    ASK(cuCtxSetSharedMemConfig, ", none", CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
    ASK(cuCtxGetStreamPriorityRange, ", none", &least, &greatest);
    ASK(cuCtxResetPersistingL2Cache, ", none");
    ASK(cuCtxGetFlags, ", none", &flags);
    ASK(cuCtxSetFlags, ", none", 0);
    ASK(cuCtxGetLimit, ", none", &value, CU_LIMIT_STACK_SIZE);
    ASK(cuCtxGetId, ", none", nullptr, &id);
    ASK(cuCtxSynchronize_v2, "(null), none", nullptr);
    ASK(cuCtxGetDevice_v2, "(null), none", &device, nullptr);
    ASK(cuCtxCreate_v3, "", &a, nullptr, 0, 0, 0);
    ASK(cuCtxGetDevice_v2, "", &device, a).note("device", device);
    ASK(cuCtxSynchronize_v2, "", a);
    ASK(cuCtxSetCacheConfig, "", CU_FUNC_CACHE_PREFER_L1);
    ASK(cuCtxSetSharedMemConfig, "", CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
    ASK(cuCtxSetSharedMemConfig, " 77", static_cast<CUsharedconfig>(77));
    ASK(cuCtxSetFlags, " 0x80000000", 0x80000000u);
    CUevent event = MAKE(cuEventCreate, 0);
    ASK(cuCtxRecordEvent, "", a, event);
    ASK(cuCtxWaitEvent, "", a, event);
    d.cuEventDestroy(event);
    ASK(cuCtxDestroy, "", a);
    CUctxCreateParams params{};
    ASK(cuCtxCreate_v4, "", &a, &params, 0, 0);
    ASK(cuCtxDestroy, "", a);
    ASK(cuCtxCreate_v4, " without parameters", &a, nullptr, 0, 0);
    ASK(cuCtxDestroy, "", a);
    ASK(cuCtxCreate_v4, " dev 99", &a, nullptr, 0, 99);
    CUexecAffinityParam affinity{};
    affinity.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    affinity.param.smCount.val = 2;
    ASK(cuCtxCreate_v3, " with 2 multiprocessors, without MPS", &a, &affinity, 1, 0, 0);
}

SECTION("green_contexts", start) {
    CUdevResource all{}, part{}, rest{}, told{};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr, of = nullptr;
    CUcontext converted = nullptr;
    unsigned int groups = 1;
    unsigned long long id = 0;
    ASK(cuDeviceGetDevResource, "", 0, &all, CU_DEV_RESOURCE_TYPE_SM);
    note("multiprocessors", all.sm.smCount);
    ASK(cuDeviceGetDevResource, " dev 99", 99, &told, CU_DEV_RESOURCE_TYPE_SM);
    ASK(cuDeviceGetDevResource, " type 77", 0, &told, static_cast<CUdevResourceType>(77));
    ASK(cuCtxGetDevResource, "", context(), &told, CU_DEV_RESOURCE_TYPE_SM);
    note("multiprocessors", told.sm.smCount);
    ASK(cuDevSmResourceSplitByCount, "", &part, &groups, &all, &rest, 0, 16).note("groups", groups);
    note("multiprocessors of the group", part.sm.smCount);
    note("multiprocessors that are left", rest.sm.smCount);
    groups = 1;
    ASK(cuDevSmResourceSplitByCount, " of 100000", &told, &groups, &all, nullptr, 0, 100000);
    ASK(cuDevResourceGenerateDesc, "", &description, &part, 1);
    ASK(cuGreenCtxCreate, " flags 0", &of, description, 0, 0);
    const CUresult created =
        d.cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    ask("cuGreenCtxCreate", created);
    if (created != CUDA_SUCCESS) {
        return;
    }
    ASK(cuGreenCtxCreate, " dev 99", &of, description, 99, CU_GREEN_CTX_DEFAULT_STREAM);
    ASK(cuGreenCtxGetDevResource, "", green, &told, CU_DEV_RESOURCE_TYPE_SM);
    note("multiprocessors", told.sm.smCount);
    ASK(cuGreenCtxGetId, "", green, &id);
    ASK(cuCtxFromGreenCtx, "", &converted, green);
    CUstream s = nullptr, plain = nullptr;
    CUevent event = MAKE(cuEventCreate, 0);
    ASK(cuGreenCtxStreamCreate, ", blocking", &plain, green, CU_STREAM_DEFAULT, 0);
    ASK(cuGreenCtxStreamCreate, "", &s, green, CU_STREAM_NON_BLOCKING, 0);
    d.cuStreamCreate(&plain, 0);
    ASK(cuStreamGetGreenCtx, "", s, &of).note("the green context", of == green);
    ASK(cuStreamGetGreenCtx, " of a plain stream", plain, &of).note("none", of == nullptr);
    ASK(cuGreenCtxRecordEvent, " of another context's event", green, event);
    d.cuCtxPushCurrent(converted);
    CUevent inner = MAKE(cuEventCreate, 0);
    d.cuCtxPopCurrent(nullptr);
    ASK(cuGreenCtxRecordEvent, "", green, inner);
    ASK(cuGreenCtxWaitEvent, "", green, inner);
    ASK(cuStreamSynchronize, "", s);
    d.cuEventDestroy(inner);
    d.cuEventDestroy(event);
    d.cuStreamDestroy(plain);
    ASK(cuStreamDestroy, "", s);
    ASK(cuGreenCtxDestroy, "", green);
}

} // namespace record::QUESTIONS
