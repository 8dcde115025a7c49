/* The slots around a launch by kernel<<<...>>>, as the generator writes those of the headers'
 * rows. */
#include "compiler_calls.hpp"

#include <cushim/detail/config.h>

#include "first_call.hpp"

/* Anything but 0 keeps the compiler's code from going on to the launch.
 *
 * A row whose version no header tells; without a runtime it answers as any call of the runtime
 * does, and cudaGetLastError knows of it. */
#define CUSHIM_LAUNCH_CALL(type, name, declared, passed)                                           \
    extern "C" type CUDARTAPI cushim_first_##name declared {                                       \
        const int status = cushim_first_call_runtime(                                              \
            CUSHIM_SLOT(name), CUSHIM_FUNCTION(&cushim_first_##name), "\0\0" #name);               \
        if (status != 0) [[unlikely]]                                                              \
            return static_cast<type>(status);                                                      \
        return CUSHIM_LOAD_SLOT(cushim_slot_##name) passed;                                        \
    }                                                                                              \
    type(CUDARTAPI *cushim_slot_##name) declared = cushim_first_##name;

#include "compiler_calls.inc"
