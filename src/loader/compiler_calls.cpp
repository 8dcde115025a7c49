/* The slots around a launch by kernel<<<...>>>, as the generator writes those of the headers' rows. */
#include "compiler_calls.hpp"

#include <cushim/config.h>

#include "first_call.hpp"

/* A row whose version no header tells; without a runtime it answers as any call of the runtime does,
 * and cudaGetLastError knows of it. */
#define CUSHIM_COMPILER_CALL(type, name, declared, passed)                                         \
    extern "C" type CUDARTAPI cushim_first_##name declared {                                       \
        const int status = cushim_first_call_runtime(                                              \
            CUSHIM_SLOT(name), CUSHIM_FUNCTION(&cushim_first_##name), "\0\0" #name);               \
        if (status != 0) [[unlikely]]                                                              \
            return static_cast<type>(status);                                                      \
        return CUSHIM_LOAD_SLOT(cushim_slot_##name) passed;                                        \
    }                                                                                              \
    type(CUDARTAPI *cushim_slot_##name) declared = cushim_first_##name;

/* Anything but 0 keeps the compiler's code from going on to the launch. */
CUSHIM_COMPILER_CALL(unsigned int, __cudaPushCallConfiguration,
                     (dim3 grid, dim3 block, size_t shared, CUstream_st *stream),
                     (grid, block, shared, stream))
CUSHIM_COMPILER_CALL(cudaError_t, __cudaPopCallConfiguration,
                     (dim3 * grid, dim3 *block, size_t *shared, void *stream),
                     (grid, block, shared, stream))
CUSHIM_COMPILER_CALL(cudaError_t, __cudaGetKernel, (CUkern_st * *kernel, const void *host_function),
                     (kernel, host_function))
CUSHIM_COMPILER_CALL(cudaError_t, __cudaLaunchKernel,
                     (CUkern_st * kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                      cudaStream_t stream),
                     (kernel, grid, block, arguments, shared, stream))
CUSHIM_COMPILER_CALL(cudaError_t, __cudaLaunchKernel_ptsz,
                     (CUkern_st * kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                      cudaStream_t stream),
                     (kernel, grid, block, arguments, shared, stream))
