/* What code compiled by nvcc or clang calls besides the runtime API: the loader keeps what is
 * registered before main until libcudart is there (src/loader/registration.cpp), and the calls
 * around a launch go through slots. An archive member of its own: only programs with device code
 * have it. */
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

#define CUSHIM_REGISTRATION(cuda_name, name, declared, passed)                                     \
    void CUDARTAPI __cuda##cuda_name(void **handle, CUSHIM_LIST declared) {                        \
        cushim_##name(handle, CUSHIM_LIST passed);                                                 \
    }                                                                                              \
    CUSHIM_GIVE_VERSION(__cuda##cuda_name);
#include "../loader/compiler_calls.inc"

char CUDARTAPI __cudaInitModule(void **handle) {
    return cushim_init_module(handle);
}
CUSHIM_GIVE_VERSION(__cudaInitModule);

#define CUSHIM_LAUNCH_CALL(type, name, declared, passed)                                           \
    type CUDARTAPI name declared {                                                                 \
        return CUSHIM_FORWARD(cushim_slot_##name) passed;                                          \
    }                                                                                              \
    CUSHIM_GIVE_VERSION(name);
#include "../loader/compiler_calls.inc"
}
