/* The slots of calls around a kernel<<<...>>> launch, like the generated ones of the headers'
 * rows. */
#include "compiler_calls.hpp"

#include <cushim/detail/config.h>

#include "first_call.hpp"

/* A status other than 0 prevents the compiled code from launching.
 *
 * No header names the version of these rows. Without a runtime they return the same status as other
 * runtime calls, and cudaGetLastError returns it too. */
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
