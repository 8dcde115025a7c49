/* What code that a CUDA compiler has made calls besides the runtime API, as far as the drop-in
 * passes it on: the registration of device code before main (registration.cpp), and the launches of
 * kernel<<<...>>>. No header of CUDA's declares these for others than its own compiler.
 *
 * Signatures: compiler_calls.inc.
 *
 * nvcc calls what stands in that header. Clang calls what registers kernels, variables, textures
 * and surfaces, and the two of the call configuration around a cudaLaunchKernel. LLVM's Fortran
 * compiler registers host variables, too. Nobody calls __cudaGetProcAddress, which libcudart
 * exports since CUDA 13.0: it answers 0 whatever it is asked.
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
#define CUSHIM_REGISTRATION(cuda_name, name, declared, passed)                                     \
    CUSHIM_CORE_API void cushim_##name(void **handle, CUSHIM_LIST declared) noexcept;
#include "compiler_calls.inc"

/* Before the host's first use of a managed variable: makes the runtime ready; 0 if there is
 * none. */
CUSHIM_CORE_API char cushim_init_module(void **handle) noexcept;

/* Slots as those of the tables, for the calls around a launch. */
#define CUSHIM_LAUNCH_CALL(type, name, declared, passed)                                           \
    extern CUSHIM_CORE_API type(CUDARTAPI *cushim_slot_##name) declared;
#include "compiler_calls.inc"
}
