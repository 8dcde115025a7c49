#include "runtime/kernel/symbol.hpp"
#include "runtime/base/driver_api.hpp"
#include "runtime/base/registration.hpp"

namespace sim::runtime {

Variable variable_of(const void *symbol) {
    need_context();
    Variable variable{};
    require(symbol != nullptr && registered_variable(symbol, variable.address, variable.size),
            cudaErrorInvalidSymbol);
    return variable;
}

CUdeviceptr place_in(const void *symbol, std::size_t offset, std::size_t count, cudaMemcpyKind kind,
                     cudaMemcpyKind by_name) {
    const Variable variable = variable_of(symbol);
    require(offset <= variable.size && count <= variable.size - offset);
    require(kind == by_name || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault,
            cudaErrorInvalidMemcpyDirection);
    return variable.address + offset;
}

#if CUDART_VERSION >= 12000
CUkernel kernel_of(const void *function) {
    need_context();
    require(function != nullptr, cudaErrorInvalidDeviceFunction);
    if (const CUkernel registered = registered_kernel(function)) {
        return registered;
    }
    // A kernel handle needs no lookup.
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

CUfunction launched(const void *function) {
    return reinterpret_cast<CUfunction>(kernel_of(function));
}
#else
CUfunction function_of(const void *function) {
    need_context();
    const CUfunction found = function ? registered_function(function) : nullptr;
    require(found != nullptr, cudaErrorInvalidDeviceFunction);
    return found;
}

CUfunction launched(const void *function) {
    return function_of(function);
}
#endif

namespace {

// Recorded: these calls require the host address of a function; handles are rejected.
void check_symbol(const void *function) {
    need_context();
    require(function != nullptr && is_registered_function(function),
            cudaErrorInvalidDeviceFunction);
}

} // namespace

// --- entry points. Recorded: an invalid symbol is reported before a null output.

EXPORT cudaError_t cudaGetSymbolAddress(OUT void **devPtr, const void *symbol) {
    const Variable variable = variable_of(symbol);
    require(devPtr != nullptr);
    *devPtr = pointer(variable.address);
    return cudaSuccess;
}

EXPORT cudaError_t cudaGetSymbolSize(OUT size_t *size, const void *symbol) {
    const Variable variable = variable_of(symbol);
    require(size != nullptr);
    *size = variable.size;
    return cudaSuccess;
}

EXPORT cudaError_t cudaGetFuncBySymbol(OUT cudaFunction_t *functionPtr, const void *symbolPtr) {
    check_symbol(symbolPtr);
    const CUfunction function = function_of(symbolPtr);
    require(functionPtr != nullptr);
    *functionPtr = function;
    return cudaSuccess;
}

#if CUDART_VERSION >= 12010
EXPORT cudaError_t cudaGetKernel(OUT cudaKernel_t *kernelPtr, const void *entryFuncAddr) {
    require(kernelPtr != nullptr);
    check_symbol(entryFuncAddr);
    *kernelPtr = kernel_of(entryFuncAddr);
    return cudaSuccess;
}
#endif

} // namespace sim::runtime
