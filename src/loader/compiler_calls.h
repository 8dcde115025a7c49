/* Calls that compiled CUDA code makes besides the runtime API, as far as the drop-in forwards them:
 * registration of device code before main (registration.c), and kernel<<<...>>> launches. CUDA's
 * headers declare these for NVIDIA's compiler only.
 *
 * nvcc's code makes the calls of crt/host_runtime.h. clang's code registers kernels, variables,
 * textures and surfaces, and makes the two calls of the launch configuration around a
 * cudaLaunchKernel. LLVM's Fortran compiler also registers host variables. No compiler uses
 * __cudaGetProcAddress, which libcudart exports since CUDA 13.0; here it always returns 0.
 *
 * Signatures: crt/host_runtime.h of CUDA 11.8 to 13.0. __cudaRegisterHostVar and
 * __cudaRegisterUnifiedTable are in no header; their signatures are those of libcudart.
 */
#pragma once

#include <stddef.h>

#include <cuda_runtime_api.h>
#include <cushim/loader.h>

struct textureReference;
struct surfaceReference;
struct CUkern_st;

/* R(cuda_name, name) for each call that registers an entity of a fat binary: __cuda<cuda_name>,
 * which cushim_<name> stores. Its first parameter is the handle of the fat binary;
 * CUSHIM_PARAMETERS_<name>(P) lists the others as P(type, name). */
#define CUSHIM_REGISTRATIONS(R)                                                                    \
    R(RegisterFunction, register_function)                                                         \
    R(RegisterVar, register_variable)                                                              \
    R(RegisterManagedVar, register_managed_variable)                                               \
    R(RegisterHostVar, register_host_variable)                                                     \
    R(RegisterTexture, register_texture) /* this and the next: CUDA 11 */                          \
    R(RegisterSurface, register_surface)                                                           \
    R(RegisterUnifiedTable, register_unified_table)                                                \
    R(RegisterFatBinaryEnd, register_fat_binary_end)
#define CUSHIM_PARAMETERS_register_function(P)                                                     \
    P(const char *, host_function)                                                                 \
    P(char *, device_function)                                                                     \
    P(const char *, device_name)                                                                   \
    P(int, thread_limit)                                                                           \
    P(uint3 *, thread_id)                                                                          \
    P(uint3 *, block_id)                                                                           \
    P(dim3 *, block)                                                                               \
    P(dim3 *, grid)                                                                                \
    P(int *, warp_size)
/* What follows the address of the variable. */
#define CUSHIM_PARAMETERS_OF_VARIABLE(P)                                                           \
    P(char *, device_address)                                                                      \
    P(const char *, device_name)                                                                   \
    P(int, external)                                                                               \
    P(size_t, size)                                                                                \
    P(int, constant)                                                                               \
    P(int, global)
#define CUSHIM_PARAMETERS_register_variable(P)                                                     \
    P(char *, host_variable)                                                                       \
    CUSHIM_PARAMETERS_OF_VARIABLE(P)
#define CUSHIM_PARAMETERS_register_managed_variable(P)                                             \
    P(void **, host_variable)                                                                      \
    CUSHIM_PARAMETERS_OF_VARIABLE(P)
#define CUSHIM_PARAMETERS_register_host_variable(P)                                                \
    P(const char *, device_name)                                                                   \
    P(void *, host_variable)                                                                       \
    P(size_t, size)
#define CUSHIM_PARAMETERS_register_texture(P)                                                      \
    P(const struct textureReference *, host_variable)                                              \
    P(const void **, device_address)                                                               \
    P(const char *, device_name)                                                                   \
    P(int, dimensions)                                                                             \
    P(int, normalized)                                                                             \
    P(int, external)
#define CUSHIM_PARAMETERS_register_surface(P)                                                      \
    P(const struct surfaceReference *, host_variable)                                              \
    P(const void **, device_address)                                                               \
    P(const char *, device_name)                                                                   \
    P(int, dimensions)                                                                             \
    P(int, external)
#define CUSHIM_PARAMETERS_register_unified_table(P)                                                \
    P(void *, first)                                                                               \
    P(void *, second)                                                                              \
    P(void *, third)                                                                               \
    P(void *, fourth)
#define CUSHIM_PARAMETERS_register_fat_binary_end(P)

/* The parameters and the arguments after the handle. */
#define CUSHIM_DECLARE(type, name) , type name
#define CUSHIM_PASS(type, name) , name

/* L(type, name, declared, passed) for each call around a launch, which goes through a slot. */
#define CUSHIM_LAUNCH_CALLS(L)                                                                     \
    L(unsigned int, __cudaPushCallConfiguration,                                                   \
      (dim3 grid, dim3 block, size_t shared, struct CUstream_st * stream),                         \
      (grid, block, shared, stream))                                                               \
    L(cudaError_t, __cudaPopCallConfiguration,                                                     \
      (dim3 * grid, dim3 * block, size_t * shared, void *stream), (grid, block, shared, stream))   \
    L(cudaError_t, __cudaGetKernel, (struct CUkern_st * *kernel, const void *host_function),       \
      (kernel, host_function))                                                                     \
    L(cudaError_t, __cudaLaunchKernel,                                                             \
      (struct CUkern_st * kernel, dim3 grid, dim3 block, void **arguments, size_t shared,          \
       cudaStream_t stream),                                                                       \
      (kernel, grid, block, arguments, shared, stream))                                            \
    L(cudaError_t, __cudaLaunchKernel_ptsz,                                                        \
      (struct CUkern_st * kernel, dim3 grid, dim3 block, void **arguments, size_t shared,          \
       cudaStream_t stream),                                                                       \
      (kernel, grid, block, arguments, shared, stream))

#ifdef __cplusplus
extern "C" {
#endif

/* A fat binary: the device code of one or several linked translation units. The returned handle
 * belongs to the loader and is valid for the functions below only. Nothing is loaded. */
CUSHIM_CORE_API void **cushim_register_fat_binary(void *fat_binary) CUSHIM_NOEXCEPT;
CUSHIM_CORE_API void cushim_unregister_fat_binary(void **handle) CUSHIM_NOEXCEPT;

#define CUSHIM_DECLARE_REGISTRATION(cuda_name, name)                                               \
    CUSHIM_CORE_API void cushim_##name(void **handle CUSHIM_PARAMETERS_##name(CUSHIM_DECLARE))     \
        CUSHIM_NOEXCEPT;
CUSHIM_REGISTRATIONS(CUSHIM_DECLARE_REGISTRATION)

/* Called before the host first uses a managed variable: initializes the runtime. Returns 0
 * without one. */
CUSHIM_CORE_API char cushim_init_module(void **handle) CUSHIM_NOEXCEPT;

#define CUSHIM_DECLARE_SLOT(type, name, declared, passed)                                          \
    extern CUSHIM_SLOT_API type(CUDARTAPI *cushim_slot_##name) declared;
CUSHIM_LAUNCH_CALLS(CUSHIM_DECLARE_SLOT)

#ifdef __cplusplus
}
#endif
