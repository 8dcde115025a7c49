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

namespace sim::driver {
namespace {

// Without a context that determines the ABI, the stream is checked.
CUresult refuse_narrow(CUstream stream) {
    if (current_or_null() == nullptr) {
        stream_of(stream);
    }
    return CUDA_ERROR_INVALID_CONTEXT;
}

} // namespace

CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev) {
    sim::device(dev);
    require(bytes != nullptr);
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuModuleGetGlobal(unsigned int *, unsigned int *, CUmodule hmod, const char *) {
    checked(hmod);
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemFree(unsigned int) {
    return current_or_null() == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemGetAddressRange(unsigned int *pbase, unsigned int *psize, unsigned int) {
    require(pbase == nullptr && psize == nullptr, CUDA_ERROR_INVALID_CONTEXT,
            "Api expected legacy context with 32 bit device pointers");
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor(struct CUDA_ARRAY_DESCRIPTOR_v1_st *, CUarray hArray) {
    checked(hArray);
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuArray3DGetDescriptor(struct CUDA_ARRAY3D_DESCRIPTOR_v1_st *, CUarray hArray) {
    checked(hArray);
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuTexRefSetAddress(unsigned int *, CUtexref hTexRef, unsigned int, unsigned int) {
    checked(hTexRef);
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuTexRefSetAddress2D(CUtexref hTexRef, const struct CUDA_ARRAY_DESCRIPTOR_v1_st *,
                              unsigned int, unsigned int) {
    checked(hTexRef);
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuTexRefGetAddress(unsigned int *, CUtexref hTexRef) {
    checked(hTexRef);
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemcpyHtoAAsync(CUarray, unsigned int, const void *, unsigned int, CUstream hStream) {
    return refuse_narrow(hStream);
}

CUresult cuMemcpyAtoHAsync(void *, CUarray, unsigned int, unsigned int, CUstream hStream) {
    return refuse_narrow(hStream);
}

CUresult cuMemcpyHtoDAsync(unsigned int, const void *, unsigned int, CUstream hStream) {
    return refuse_narrow(hStream);
}

CUresult cuMemcpyDtoHAsync(void *, unsigned int, unsigned int, CUstream hStream) {
    return refuse_narrow(hStream);
}

CUresult cuMemcpyDtoDAsync(unsigned int, unsigned int, unsigned int, CUstream hStream) {
    return refuse_narrow(hStream);
}

CUresult cuMemcpy2DAsync(const struct CUDA_MEMCPY2D_v1_st *, CUstream hStream) {
    return refuse_narrow(hStream);
}

CUresult cuMemcpy3DAsync(const struct CUDA_MEMCPY3D_v1_st *, CUstream hStream) {
    return refuse_narrow(hStream);
}

// No graphics resources exist here, so every handle is invalid.
CUresult cuGraphicsResourceGetMappedPointer(unsigned int *, unsigned int *, CUgraphicsResource) {
    return CUDA_ERROR_INVALID_HANDLE;
}

} // namespace sim::driver
