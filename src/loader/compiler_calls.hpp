/* Calls that compiled CUDA code makes besides the runtime API, as far as the drop-in forwards them:
 * registration of device code before main (registration.cpp), and kernel<<<...>>> launches. CUDA's
 * headers declare these for NVIDIA's compiler only.
 *
 * Signatures: compiler_calls.inc.
 *
 * nvcc's code makes the calls of crt/host_runtime.h. clang's code registers kernels, variables,
 * textures and surfaces, and makes the two calls of the launch configuration around a
 * cudaLaunchKernel. LLVM's Fortran compiler also registers host variables. No compiler uses
 * __cudaGetProcAddress, which libcudart exports since CUDA 13.0; here it always returns 0.
 */
#pragma once

#include <stddef.h>

#include <cuda_runtime_api.h>
#include <cushim/loader.h>

struct textureReference;
struct surfaceReference;
struct CUkern_st;

extern "C" {

/* A fat binary: the device code of one or several linked translation units. The returned handle
 * belongs to the loader and is valid for the functions below only. Nothing is loaded. */
CUSHIM_CORE_API void **cushim_register_fat_binary(void *fat_binary) noexcept;
CUSHIM_CORE_API void cushim_register_fat_binary_end(void **handle) noexcept;
CUSHIM_CORE_API void cushim_unregister_fat_binary(void **handle) noexcept;

/* All other registrations belong to a fat binary. */
#define CUSHIM_REGISTRATION(cuda_name, name, declared, passed)                                     \
    CUSHIM_CORE_API void cushim_##name(void **handle, CUSHIM_LIST declared) noexcept;
#include "compiler_calls.inc"

/* Called before the host first uses a managed variable: initializes the runtime. Returns 0
 * without one. */
CUSHIM_CORE_API char cushim_init_module(void **handle) noexcept;

/* Slots like those of the tables, for the calls around a launch. */
#define CUSHIM_LAUNCH_CALL(type, name, declared, passed)                                           \
    extern CUSHIM_SLOT_API type(CUDARTAPI *cushim_slot_##name) declared;
#include "compiler_calls.inc"
}
