/* Calls that code compiled by nvcc or clang makes besides the runtime API. The loader stores
 * registrations made before main until libcudart is loaded (src/loader/registration.cpp); calls
 * around a launch go through slots. A separate archive member, so that only programs with device
 * code contain it. */
#include "../loader/compiler_calls.hpp"

#include "forward.hpp"

// Declared in no header: the compilers know these names.
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
