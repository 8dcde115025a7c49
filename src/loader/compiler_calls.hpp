/* What code that a CUDA compiler has made calls besides the runtime API, as far as the drop-in passes
 * it on: the registration of device code before main (registration.cpp), and the launches of
 * kernel<<<...>>>. No header of CUDA's declares these for others than its own compiler.
 *
 * Signatures: crt/host_runtime.h of CUDA 11.8 to 13.0. __cudaRegisterHostVar and
 * __cudaRegisterUnifiedTable stand in no header: theirs are what libcudart itself takes.
 *
 * nvcc calls what stands in that header. Clang calls what registers kernels, variables, textures and
 * surfaces, and the two of the call configuration around a cudaLaunchKernel. LLVM's Fortran compiler
 * registers host variables, too. Nobody calls __cudaGetProcAddress, which libcudart exports since
 * CUDA 13.0: it answers 0 whatever it is asked.
 */
#pragma once

#include <stddef.h>

#include <cuda_runtime_api.h>
#include <cushim/loader.h>

struct textureReference;
struct surfaceReference;
struct CUkern_st;

extern "C" {

/* A fat binary: the device code of one translation unit, or of several that were linked. The handle
 * that comes back is the loader's own and only good for the functions below. Nothing is loaded. */
CUSHIM_CORE_API void **cushim_register_fat_binary(void *fat_binary) noexcept;
CUSHIM_CORE_API void cushim_register_fat_binary_end(void **handle) noexcept;
CUSHIM_CORE_API void cushim_unregister_fat_binary(void **handle) noexcept;

/* Everything else that is registered belongs to a fat binary. */
CUSHIM_CORE_API void cushim_register_function(void **handle, const char *host_function,
                                              char *device_function, const char *device_name,
                                              int thread_limit, uint3 *thread_id, uint3 *block_id,
                                              dim3 *block, dim3 *grid, int *warp_size) noexcept;
CUSHIM_CORE_API void cushim_register_variable(void **handle, char *host_variable,
                                              char *device_address, const char *device_name,
                                              int external, size_t size, int constant,
                                              int global) noexcept;
CUSHIM_CORE_API void cushim_register_managed_variable(void **handle, void **host_variable,
                                                      char *device_address, const char *device_name,
                                                      int external, size_t size, int constant,
                                                      int global) noexcept;
CUSHIM_CORE_API void cushim_register_host_variable(void **handle, const char *device_name,
                                                   void *host_variable, size_t size) noexcept;
CUSHIM_CORE_API void cushim_register_texture(void **handle, const textureReference *host_variable,
                                             const void **device_address, const char *device_name,
                                             int dimensions, int normalized, int external) noexcept;
CUSHIM_CORE_API void cushim_register_surface(void **handle, const surfaceReference *host_variable,
                                             const void **device_address, const char *device_name,
                                             int dimensions, int external) noexcept;
CUSHIM_CORE_API void cushim_register_unified_table(void **handle, void *first, void *second,
                                                   void *third, void *fourth) noexcept;

/* Before the host's first use of a managed variable: makes the runtime ready; 0 if there is none. */
CUSHIM_CORE_API char cushim_init_module(void **handle) noexcept;

/* Slots as those of the tables, for the calls around a launch. */
extern CUSHIM_CORE_API unsigned int(CUDARTAPI *cushim_slot___cudaPushCallConfiguration)(
    dim3, dim3, size_t, CUstream_st *);
extern CUSHIM_CORE_API
cudaError_t(CUDARTAPI *cushim_slot___cudaPopCallConfiguration)(dim3 *, dim3 *, size_t *, void *);
extern CUSHIM_CORE_API cudaError_t(CUDARTAPI *cushim_slot___cudaGetKernel)(CUkern_st **,
                                                                           const void *);
extern CUSHIM_CORE_API cudaError_t(CUDARTAPI *cushim_slot___cudaLaunchKernel)(CUkern_st *, dim3,
                                                                              dim3, void **, size_t,
                                                                              cudaStream_t);
extern CUSHIM_CORE_API cudaError_t(CUDARTAPI *cushim_slot___cudaLaunchKernel_ptsz)(CUkern_st *,
                                                                                   dim3, dim3,
                                                                                   void **, size_t,
                                                                                   cudaStream_t);
}
