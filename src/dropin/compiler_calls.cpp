/* What code compiled by nvcc or clang calls besides the runtime API: the loader keeps what is
 * registered before main until libcudart is there (src/loader/registration.cpp), and the calls around
 * a launch go through slots. An archive member of its own: only programs with device code have it. */
#include "../loader/compiler_calls.hpp"

#include "forward.hpp"

// Declared nowhere else: the compilers know these names.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#endif

extern "C" {

void **CUDARTAPI __cudaRegisterFatBinary(void *fat_binary) {
    return cushim_register_fat_binary(fat_binary);
}
CUSHIM_GIVE_VERSION(__cudaRegisterFatBinary);

void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle) {
    cushim_register_fat_binary_end(handle);
}
CUSHIM_GIVE_VERSION(__cudaRegisterFatBinaryEnd);

void CUDARTAPI __cudaUnregisterFatBinary(void **handle) {
    cushim_unregister_fat_binary(handle);
}
CUSHIM_GIVE_VERSION(__cudaUnregisterFatBinary);

void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host_function,
                                      char *device_function, const char *device_name,
                                      int thread_limit, uint3 *thread_id, uint3 *block_id,
                                      dim3 *block, dim3 *grid, int *warp_size) {
    cushim_register_function(handle, host_function, device_function, device_name, thread_limit,
                             thread_id, block_id, block, grid, warp_size);
}
CUSHIM_GIVE_VERSION(__cudaRegisterFunction);

void CUDARTAPI __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
                                 const char *device_name, int external, size_t size, int constant,
                                 int global) {
    cushim_register_variable(handle, host_variable, device_address, device_name, external, size,
                             constant, global);
}
CUSHIM_GIVE_VERSION(__cudaRegisterVar);

void CUDARTAPI __cudaRegisterManagedVar(void **handle, void **host_variable, char *device_address,
                                        const char *device_name, int external, size_t size,
                                        int constant, int global) {
    cushim_register_managed_variable(handle, host_variable, device_address, device_name, external,
                                     size, constant, global);
}
CUSHIM_GIVE_VERSION(__cudaRegisterManagedVar);

void CUDARTAPI __cudaRegisterHostVar(void **handle, const char *device_name, void *host_variable,
                                     size_t size) {
    cushim_register_host_variable(handle, device_name, host_variable, size);
}
CUSHIM_GIVE_VERSION(__cudaRegisterHostVar);

// Up to CUDA 11.
void CUDARTAPI __cudaRegisterTexture(void **handle, const textureReference *host_variable,
                                     const void **device_address, const char *device_name,
                                     int dimensions, int normalized, int external) {
    cushim_register_texture(handle, host_variable, device_address, device_name, dimensions,
                            normalized, external);
}
CUSHIM_GIVE_VERSION(__cudaRegisterTexture);

void CUDARTAPI __cudaRegisterSurface(void **handle, const surfaceReference *host_variable,
                                     const void **device_address, const char *device_name,
                                     int dimensions, int external) {
    cushim_register_surface(handle, host_variable, device_address, device_name, dimensions,
                            external);
}
CUSHIM_GIVE_VERSION(__cudaRegisterSurface);

void CUDARTAPI __cudaRegisterUnifiedTable(void **handle, void *first, void *second, void *third,
                                          void *fourth) {
    cushim_register_unified_table(handle, first, second, third, fourth);
}
CUSHIM_GIVE_VERSION(__cudaRegisterUnifiedTable);

char CUDARTAPI __cudaInitModule(void **handle) {
    return cushim_init_module(handle);
}
CUSHIM_GIVE_VERSION(__cudaInitModule);

unsigned int CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                                   CUstream_st *stream) {
    return CUSHIM_FORWARD(cushim_slot___cudaPushCallConfiguration)(grid, block, shared, stream);
}
CUSHIM_GIVE_VERSION(__cudaPushCallConfiguration);

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                                 void *stream) {
    return CUSHIM_FORWARD(cushim_slot___cudaPopCallConfiguration)(grid, block, shared, stream);
}
CUSHIM_GIVE_VERSION(__cudaPopCallConfiguration);

cudaError_t CUDARTAPI __cudaGetKernel(CUkern_st **kernel, const void *host_function) {
    return CUSHIM_FORWARD(cushim_slot___cudaGetKernel)(kernel, host_function);
}
CUSHIM_GIVE_VERSION(__cudaGetKernel);

cudaError_t CUDARTAPI __cudaLaunchKernel(CUkern_st *kernel, dim3 grid, dim3 block, void **arguments,
                                         size_t shared, cudaStream_t stream) {
    return CUSHIM_FORWARD(cushim_slot___cudaLaunchKernel)(kernel, grid, block, arguments, shared,
                                                          stream);
}
CUSHIM_GIVE_VERSION(__cudaLaunchKernel);

cudaError_t CUDARTAPI __cudaLaunchKernel_ptsz(CUkern_st *kernel, dim3 grid, dim3 block,
                                              void **arguments, size_t shared,
                                              cudaStream_t stream) {
    return CUSHIM_FORWARD(cushim_slot___cudaLaunchKernel_ptsz)(kernel, grid, block, arguments,
                                                               shared, stream);
}
CUSHIM_GIVE_VERSION(__cudaLaunchKernel_ptsz);
}
