/* The slots of calls around a kernel<<<...>>> launch, like the generated ones of the headers'
 * rows. */
#include "compiler_calls.h"

#include "first_call.h"

/* A status other than 0 prevents the compiled code from launching.
 *
 * No header names the version of these rows. Without a runtime they return the same status as other
 * runtime calls, and cudaGetLastError returns it too. */
#define CUSHIM_FIRST_LAUNCH_CALL(type, name, declared, passed)                                     \
    static type CUDARTAPI cushim_first_##name declared {                                           \
        const int status =                                                                         \
            cushim_first_call_runtime(CUSHIM_SLOT(name), CUSHIM_FIRST_CALL(name), "\0\0" #name);   \
        if (CUSHIM_UNLIKELY(status != 0)) {                                                        \
            return (type)status;                                                                   \
        }                                                                                          \
        return CUSHIM_LOAD_SLOT(cushim_slot_##name) passed;                                        \
    }                                                                                              \
    type(CUDARTAPI *cushim_slot_##name) declared = cushim_first_##name;
CUSHIM_LAUNCH_CALLS(CUSHIM_FIRST_LAUNCH_CALL)
