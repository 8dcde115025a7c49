// Entry points of the first ABI, with addresses and sizes of 32 bits. The driver still exports
// them. Generated entry points return INVALID_CONTEXT (201); these check another argument first, as
// recorded.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/work.hpp"
#include "kernel/module.hpp"
#include "kernel/texture.hpp"
#include "memory/array.hpp"

#include <algorithm>
#include <limits>

namespace sim::driver {

// Recorded: this one succeeds. Its output is not recorded.
EXPORT CUresult cuDeviceTotalMem(OUT unsigned int *bytes, CUdevice dev) {
    sim::device(dev);
    require(bytes != nullptr);
    *bytes = static_cast<unsigned int>(
        std::min<std::size_t>(device_memory(dev), std::numeric_limits<unsigned int>::max()));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetGlobal(OUT unsigned int *, OUT unsigned int *, CUmodule hmod,
                                  const char *) {
    module_of(hmod);
    return CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuMemFree(unsigned int) {
    return current_or_null() == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuMemGetAddressRange(OUT unsigned int *pbase, OUT unsigned int *psize,
                                     unsigned int) {
    require(pbase == nullptr && psize == nullptr, CUDA_ERROR_INVALID_CONTEXT,
            "Api expected legacy context with 32 bit device pointers");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuArrayGetDescriptor(struct CUDA_ARRAY_DESCRIPTOR_v1_st *, CUarray hArray) {
    checked(hArray);
    return CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuArray3DGetDescriptor(struct CUDA_ARRAY3D_DESCRIPTOR_v1_st *, CUarray hArray) {
    checked(hArray);
    return CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuTexRefSetAddress(OUT unsigned int *, CUtexref hTexRef, unsigned int,
                                   unsigned int) {
    checked(hTexRef);
    return CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuTexRefSetAddress2D(CUtexref hTexRef, const struct CUDA_ARRAY_DESCRIPTOR_v1_st *,
                                     unsigned int, unsigned int) {
    checked(hTexRef);
    return CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuTexRefGetAddress(OUT unsigned int *, CUtexref hTexRef) {
    checked(hTexRef);
    return CUDA_ERROR_INVALID_CONTEXT;
}

// No graphics resources exist here, so every handle is invalid.
EXPORT CUresult cuGraphicsResourceGetMappedPointer(OUT unsigned int *, OUT unsigned int *,
                                                   CUgraphicsResource) {
    return CUDA_ERROR_INVALID_HANDLE;
}

} // namespace sim::driver
