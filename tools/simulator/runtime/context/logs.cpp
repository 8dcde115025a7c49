// The driver's log.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

#if CUDART_VERSION >= 13000

cudaError_t cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData,
                                     cudaLogsCallbackHandle *callback_out) {
    // The level is the same enumeration under two names.
    return CU_ANY(cuLogsRegisterCallback)(reinterpret_cast<CUlogsCallback>(callbackFunc), userData,
                                          reinterpret_cast<CUlogsCallbackHandle *>(callback_out));
}

cudaError_t cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback) {
    return CU_ANY(cuLogsUnregisterCallback)(reinterpret_cast<CUlogsCallbackHandle>(callback));
}

cudaError_t cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags) {
    return CU_ANY(cuLogsCurrent)(iterator_out, flags);
}

cudaError_t cudaLogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile,
                               unsigned int flags) {
    return CU_ANY(cuLogsDumpToFile)(iterator, pathToFile, flags);
}

cudaError_t cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
                                 unsigned int flags) {
    return CU_ANY(cuLogsDumpToMemory)(iterator, buffer, size, flags);
}

#endif

} // namespace sim::runtime
