// Other runtime services: profiler control, notifications, flushes, the driver's log.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {

void services() {
    if (!begin()) {
        return;
    }
    ask("cudaProfilerStart", r.cudaProfilerStart());
    ask("cudaProfilerStop", r.cudaProfilerStop());
    ask("cudaDeviceFlushGPUDirectRDMAWrites(target 77)",
        r.cudaDeviceFlushGPUDirectRDMAWrites(static_cast<cudaFlushGPUDirectRDMAWritesTarget>(77),
                                             cudaFlushGPUDirectRDMAWritesToOwner));
    ask("cudaDeviceFlushGPUDirectRDMAWrites",
        r.cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                             cudaFlushGPUDirectRDMAWritesToOwner));
#if CUDART_VERSION >= 12040
    cudaAsyncCallbackHandle_t handle = nullptr, none = nullptr;
    const cudaAsyncCallback notice = [](cudaAsyncNotificationInfo_t *, void *,
                                        cudaAsyncCallbackHandle_t) {};
    ask("cudaDeviceRegisterAsyncNotification(device 1000)",
        r.cudaDeviceRegisterAsyncNotification(1000, notice, nullptr, &none));
    const cudaError_t status = r.cudaDeviceRegisterAsyncNotification(0, notice, nullptr, &handle);
    ask("cudaDeviceRegisterAsyncNotification", status);
    if (status == cudaSuccess) {
        ask("cudaDeviceUnregisterAsyncNotification",
            r.cudaDeviceUnregisterAsyncNotification(0, handle));
    }
#endif
}

void logs() {
#if CUDART_VERSION >= 13000
    if (!begin()) {
        return;
    }
    cudaLogIterator iterator = 0;
    ask("cudaLogsCurrent(flags 1)", r.cudaLogsCurrent(&iterator, 1));
    ask("cudaLogsCurrent", r.cudaLogsCurrent(&iterator, 0));
    cudaLogsCallbackHandle handle = nullptr;
    const cudaLogsCallback_t line = [](void *, cudaLogLevel, char *, std::size_t) {};
    const cudaError_t status = r.cudaLogsRegisterCallback(line, nullptr, &handle);
    ask("cudaLogsRegisterCallback", status);
    if (status == cudaSuccess) {
        ask("cudaLogsUnregisterCallback", r.cudaLogsUnregisterCallback(handle));
    }
    char buffer[4096] = "";
    std::size_t size = sizeof buffer;
    ask("cudaLogsDumpToMemory(flags 1)", r.cudaLogsDumpToMemory(&iterator, buffer, &size, 1));
    size = sizeof buffer;
    ask("cudaLogsDumpToMemory", r.cudaLogsDumpToMemory(&iterator, buffer, &size, 0));
    ask("cudaLogsDumpToFile(flags 1)", r.cudaLogsDumpToFile(&iterator, "/dev/null", 1));
    ask("cudaLogsDumpToFile", r.cudaLogsDumpToFile(&iterator, "/dev/null", 0));
#endif
}

} // namespace record::QUESTIONS::runtime
