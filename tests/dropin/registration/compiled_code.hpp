// The calls that nvcc 13 writes into a translation unit with device code. Written by hand, so that
// no device compiler is needed. No header declares these functions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

struct textureReference;
struct surfaceReference;

extern "C" {
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *,
                            dim3 *, dim3 *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);
void __cudaRegisterHostVar(void **, const char *, void *, size_t);
void __cudaRegisterTexture(void **, const textureReference *, const void **, const char *, int, int,
                           int);
void __cudaRegisterSurface(void **, const surfaceReference *, const void **, const char *, int,
                           int);
void __cudaRegisterUnifiedTable(void **, void *, void *, void *, void *);
char __cudaInitModule(void **);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, struct CUstream_st *);
cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
cudaError_t __cudaGetKernel(struct CUkern_st **, const void *);
cudaError_t __cudaLaunchKernel(struct CUkern_st *, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __cudaLaunchKernel_ptsz(struct CUkern_st *, dim3, dim3, void **, size_t, cudaStream_t);
}

// An address that is only a number, so that the log shows it unchanged.
template <class Pointer = char *>
Pointer at(std::uintptr_t number) {
    return reinterpret_cast<Pointer>(number);
}

inline void register_kernel(void **handle, std::uintptr_t code, const char *name) {
    __cudaRegisterFunction(handle, at(code + 2), at(code + 3), name, -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
}

// One fat binary with one kernel.
inline void **register_one(std::uintptr_t code, const char *name) {
    void **handle = __cudaRegisterFatBinary(at<void *>(code));
    register_kernel(handle, code, name);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}
