#include "symbol.hpp"
#include "driver_api.hpp"
#include "registration.hpp"

namespace sim::runtime {

Variable variable_of(const void *symbol) {
    need_context();
    Variable variable{};
    require(symbol != nullptr && registered_variable(symbol, variable.address, variable.size),
            cudaErrorInvalidSymbol);
    return variable;
}

CUdeviceptr place_in(const void *symbol, std::size_t offset, std::size_t count) {
    const Variable variable = variable_of(symbol);
    require(offset <= variable.size && count <= variable.size - offset);
    return variable.address + offset;
}

#if CUDART_VERSION >= 12000
CUkernel kernel_of(const void *function) {
    need_context();
    require(function != nullptr, cudaErrorInvalidDeviceFunction);
    if (const CUkernel registered = registered_kernel(function)) {
        return registered;
    }
    // A handle of a kernel is taken as it is.
    const auto kernel = reinterpret_cast<CUkernel>(const_cast<void *>(function));
    CUfunction ignored = nullptr;
    require(CU(cuKernelGetFunction)(&ignored, kernel) == cudaSuccess,
            cudaErrorInvalidDeviceFunction);
    return kernel;
}

CUfunction function_of(const void *function) {
    CUfunction found = nullptr;
    demand(CU(cuKernelGetFunction)(&found, kernel_of(function)));
    return found;
}
#else
CUfunction function_of(const void *function) {
    need_context();
    const CUfunction found = function ? registered_function(function) : nullptr;
    require(found != nullptr, cudaErrorInvalidDeviceFunction);
    return found;
}
#endif

// --- entry points

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol) {
    require(devPtr != nullptr);
    *devPtr = pointer(variable_of(symbol).address);
    return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    require(size != nullptr);
    *size = variable_of(symbol).size;
    return cudaSuccess;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr) {
    require(functionPtr != nullptr);
    *functionPtr = function_of(symbolPtr);
    return cudaSuccess;
}

#if CUDART_VERSION >= 12010
cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr) {
    require(kernelPtr != nullptr);
    *kernelPtr = kernel_of(entryFuncAddr);
    return cudaSuccess;
}
#endif

} // namespace sim::runtime
