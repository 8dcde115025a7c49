/* Calls that code compiled by nvcc or clang makes besides the runtime API. The loader stores
 * registrations made before main until libcudart is loaded (src/loader/registration.c); calls
 * around a launch go through slots. A separate archive member, so that only programs with device
 * code contain it. */
#include "../loader/compiler_calls.h"

#include "dropin.h"

// Declared in no header: the compilers know these names.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#endif

void **CUDARTAPI __cudaRegisterFatBinary(void *fat_binary) {
    return cushim_register_fat_binary(fat_binary);
}
CUSHIM_GIVE_VERSION(__cudaRegisterFatBinary)

void CUDARTAPI __cudaUnregisterFatBinary(void **handle) {
    cushim_unregister_fat_binary(handle);
}
CUSHIM_GIVE_VERSION(__cudaUnregisterFatBinary)

#define CUSHIM_DEFINE_REGISTRATION(cuda_name, name)                                                \
    void CUDARTAPI __cuda##cuda_name(void **handle CUSHIM_PARAMETERS_##name(CUSHIM_DECLARE)) {     \
        cushim_##name(handle CUSHIM_PARAMETERS_##name(CUSHIM_PASS));                               \
    }                                                                                              \
    CUSHIM_GIVE_VERSION(__cuda##cuda_name)
CUSHIM_REGISTRATIONS(CUSHIM_DEFINE_REGISTRATION)

char CUDARTAPI __cudaInitModule(void **handle) {
    return cushim_init_module(handle);
}
CUSHIM_GIVE_VERSION(__cudaInitModule)

#define CUSHIM_DEFINE_LAUNCH_CALL(type, name, declared, passed)                                    \
    type CUDARTAPI name declared {                                                                 \
        return CUSHIM_FORWARD(cushim_slot_##name) passed;                                          \
    }                                                                                              \
    CUSHIM_GIVE_VERSION(name)
CUSHIM_LAUNCH_CALLS(CUSHIM_DEFINE_LAUNCH_CALL)
