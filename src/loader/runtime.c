/* The runtime: its description, and what only the runtime needs. Without a driver, it is not used.
 * It receives the device code that was registered before it was loaded. */
#include "runtime.h"

#include <stdio.h>

#include "first_call.h"
#include "registration.h"

static const cushim_library_description runtime_description = {
    .size = sizeof runtime_description,
    .name = "runtime",
    .title = "CUDA runtime",
    .variable = "CUSHIM_RUNTIME",
    .file_names = cushim_platform_runtime_names,
    .package_folders = cushim_platform_runtime_packages,
    .places = CUSHIM_PLACE_BESIDE_DRIVER | CUSHIM_PLACE_TOOLKIT | CUSHIM_PLACE_PACKAGES,
    .required = "cudaGetDeviceCount",
    .version_function = "cudaRuntimeGetVersion",
    .version_kind = CUSHIM_VERSION_WRITTEN,
    .major = CUSHIM_CUDA_MAJOR,
    .hint = "install the CUDA " CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) " runtime",
};

/* In NVIDIA's library, all functions have one symbol version: the file name for its major version.
 */
static bool may_be_of_our_major(Module module) {
    return cushim_platform_may_have_version(module, runtime_description.required,
                                            cushim_platform_runtime_names[0]);
}

cushim_outcome cushim_judge_runtime(Module module, int version_status, Text *detail) {
    if (version_status != -1) {
        return CUSHIM_OUTCOME_LOADED;
    }
    if (cushim_platform_find_function(module, runtime_description.required) == NULL) {
        snprintf(detail->chars, sizeof detail->chars,
                 "not a CUDA runtime: it has neither cudaRuntimeGetVersion nor cudaGetDeviceCount");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    if (!may_be_of_our_major(module)) {
        snprintf(detail->chars, sizeof detail->chars,
                 "another CUDA runtime than %s, but this program was built for major version %d",
                 cushim_platform_runtime_names[0], CUSHIM_CUDA_MAJOR);
        return CUSHIM_OUTCOME_WRONG_VERSION;
    }
    return CUSHIM_OUTCOME_LOADED;
}

cushim_function cushim_find_in_runtime(const SearchRecord *runtime, const char *name) {
    PassOnRegistrations *waiting = CUSHIM_LOAD(&cushim_pass_on_registrations);
    if (waiting != NULL) {
        waiting(runtime);
    }
    return cushim_find_exported(runtime, name);
}

Library cushim_runtime_library = {
    .description = &runtime_description,
    .listed = &cushim_runtime_library,
    .number = CUSHIM_LIBRARY_RUNTIME,
};

PassOnRegistrations *cushim_pass_on_registrations = NULL;
