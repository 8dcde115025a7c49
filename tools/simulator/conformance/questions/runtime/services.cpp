// Other runtime services: profiler control, notifications, flushes, the driver's log.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {

SECTION_ONCE("services", begin) {
    ASK(cudaProfilerStart, "");
    ASK(cudaProfilerStop, "");
    ASK(cudaDeviceFlushGPUDirectRDMAWrites, "(target 77)",
        static_cast<cudaFlushGPUDirectRDMAWritesTarget>(77), cudaFlushGPUDirectRDMAWritesToOwner);
    ASK(cudaDeviceFlushGPUDirectRDMAWrites, "", cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
        cudaFlushGPUDirectRDMAWritesToOwner);
#if CUDART_VERSION >= 12040
    cudaAsyncCallbackHandle_t handle = nullptr, none = nullptr;
    const cudaAsyncCallback notice = [](cudaAsyncNotificationInfo_t *, void *,
                                        cudaAsyncCallbackHandle_t) {};
    ASK(cudaDeviceRegisterAsyncNotification, "(device 1000)", 1000, notice, nullptr, &none);
    const cudaError_t status = r.cudaDeviceRegisterAsyncNotification(0, notice, nullptr, &handle);
    ask("cudaDeviceRegisterAsyncNotification", status);
    if (status == cudaSuccess) {
        ASK(cudaDeviceUnregisterAsyncNotification, "", 0, handle);
    }
#endif
}

SECTION_ONCE("logs") {
#if CUDART_VERSION >= 13000
    if (!begin()) {
        return;
    }
    cudaLogIterator iterator = 0;
    ASK(cudaLogsCurrent, "(flags 1)", &iterator, 1);
    ASK(cudaLogsCurrent, "", &iterator, 0);
    cudaLogsCallbackHandle handle = nullptr;
    const cudaLogsCallback_t line = [](void *, cudaLogLevel, char *, std::size_t) {};
    const cudaError_t status = r.cudaLogsRegisterCallback(line, nullptr, &handle);
    ask("cudaLogsRegisterCallback", status);
    if (status == cudaSuccess) {
        ASK(cudaLogsUnregisterCallback, "", handle);
    }
    char buffer[4096] = "";
    std::size_t size = sizeof buffer;
    ASK(cudaLogsDumpToMemory, "(flags 1)", &iterator, buffer, &size, 1);
    size = sizeof buffer;
    ASK(cudaLogsDumpToMemory, "", &iterator, buffer, &size, 0);
    ASK(cudaLogsDumpToFile, "(flags 1)", &iterator, "/dev/null", 1);
    ASK(cudaLogsDumpToFile, "", &iterator, "/dev/null", 0);
#endif
}

} // namespace record::QUESTIONS::runtime
