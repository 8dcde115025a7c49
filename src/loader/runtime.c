/* The runtime: its description, and what it does besides. Without a driver, it is not used. It
 * receives the device code that was registered before it was loaded. */
#include <stdio.h>

#include "first_call.h"
#include "registration.h"
#include "resolve.h"

static const cushim_library_description runtime_description = {
    sizeof runtime_description,
    "runtime",
    "CUDA runtime",
    "CUSHIM_RUNTIME",
    cushim_platform_runtime_names,
    cushim_platform_runtime_packages,
    CUSHIM_PLACE_BESIDE_DRIVER | CUSHIM_PLACE_TOOLKIT | CUSHIM_PLACE_PACKAGES,
    "cudaGetDeviceCount",
    "cudaRuntimeGetVersion",
    CUSHIM_VERSION_WRITTEN,
    0,
    0,
    CUSHIM_CUDA_MAJOR,
    "install the CUDA " CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) " runtime",
};

static cushim_outcome judge_runtime(Module module, int version_status, Text *detail) {
    if (version_status != -1 ||
        cushim_platform_find_function(module, runtime_description.required) != NULL) {
        return CUSHIM_OUTCOME_LOADED;
    }
    snprintf(detail->chars, sizeof detail->chars,
             "not a CUDA runtime: it has neither cudaRuntimeGetVersion nor cudaGetDeviceCount");
    return CUSHIM_OUTCOME_NOT_CUDA;
}

static cushim_function find_in_runtime(const LoadedLibrary *runtime, const char *name,
                                       int introduced) {
    PassOnRegistrations *waiting =
        CUSHIM_LOAD(PassOnRegistrations *, &cushim_pass_on_registrations);
    (void)introduced;
    if (waiting != NULL) {
        waiting(runtime);
    }
    return cushim_find_exported(runtime, name);
}

static int absent_runtime_status(const LoadedLibrary *record) {
    (void)record;
    return cushim_is_used(cushim_ensure_loaded(&cushim_driver_library))
               ? CUSHIM_STATUS_LIBRARY_NOT_FOUND
               : CUSHIM_STATUS_INSUFFICIENT_DRIVER;
}

static const cushim_special runtime_special = {
    "the runtime", true, judge_runtime, find_in_runtime, absent_runtime_status, NULL};

Library cushim_runtime_library = {
    &runtime_description,  NULL, &runtime_special, NULL, NULL, NULL, &cushim_runtime_library,
    CUSHIM_LIBRARY_RUNTIME};

PassOnRegistrations *cushim_pass_on_registrations = NULL;

cushim_function cushim_find_in_unused_runtime(const char *name) {
    const LoadedLibrary *record = cushim_current_record(&cushim_runtime_library);
    return record != NULL && record->module != NULL ? cushim_find_exported(record, name) : NULL;
}

int cushim_first_call_runtime_quiet(cushim_function *slot, cushim_function first, const char *row) {
    return cushim_resolve_slot_of(&cushim_runtime_library, absent_runtime_status, slot, first,
                                  cushim_row_name(row), cushim_row_introduced(row));
}

int cushim_first_call_runtime(cushim_function *slot, cushim_function first, const char *row) {
    const int status = cushim_first_call_runtime_quiet(slot, first, row);
    if (status != 0 && !cushim_is_used(cushim_current_record(&cushim_runtime_library))) {
        cushim_platform_set_thread_error(status);
    }
    return status;
}
