// Libraries of device code that the client loads.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

#if CUDART_VERSION >= 12080

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, cudaJitOption *jitOptions,
                                void **jitOptionsValues, unsigned int numJitOptions,
                                cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                                unsigned int numLibraryOptions) {
    return CU(cuLibraryLoadData)(
        library, code, same_memory<CUjit_option>(jitOptions), jitOptionsValues, numJitOptions,
        same_memory<CUlibraryOption>(libraryOptions), libraryOptionValues, numLibraryOptions);
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                    cudaJitOption *jitOptions, void **jitOptionsValues,
                                    unsigned int numJitOptions, cudaLibraryOption *libraryOptions,
                                    void **libraryOptionValues, unsigned int numLibraryOptions) {
    return CU(cuLibraryLoadFromFile)(
        library, fileName, same_memory<CUjit_option>(jitOptions), jitOptionsValues, numJitOptions,
        same_memory<CUlibraryOption>(libraryOptions), libraryOptionValues, numLibraryOptions);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    return CU(cuLibraryUnload)(library);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name) {
    return CU(cuLibraryGetKernel)(pKernel, library, name);
}

cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                 const char *name) {
    return CU(cuLibraryGetGlobal)(address_out(dptr), bytes, library, name);
}

cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                  const char *name) {
    return CU(cuLibraryGetManaged)(address_out(dptr), bytes, library, name);
}

cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol) {
    return CU(cuLibraryGetUnifiedFunction)(fptr, library, symbol);
}

cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib) {
    return CU(cuLibraryGetKernelCount)(count, lib);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                        cudaLibrary_t lib) {
    return CU(cuLibraryEnumerateKernels)(kernels, numKernels, lib);
}

#endif

} // namespace sim::runtime
