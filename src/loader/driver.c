/* The driver: its description, and what only the driver needs. The toolkit's link stub exports the
 * driver's functions, but is not a driver. A function that the driver does not export is requested
 * from cuGetProcAddress_v2. */
#include "driver.h"

#include <stdio.h>
#include <string.h>

#include "first_call.h"
#include "own_codes.h"

static const cushim_library_description driver_description = {
    .size = sizeof driver_description,
    .name = "driver",
    .title = "CUDA driver",
    .variable = "CUSHIM_DRIVER",
    .file_names = cushim_platform_driver_names,
    .places = CUSHIM_PLACE_DRIVER,
    .required = "cuInit",
    .version_function = "cuDriverGetVersion",
    .version_kind = CUSHIM_VERSION_WRITTEN,
    .major = -1,
    .hint = "install the NVIDIA driver, or start the container with GPU access (docker run --gpus "
            "all)",
};

cushim_outcome cushim_judge_driver(Module module, int version_status, Text *detail) {
    if (version_status == CUSHIM_STATUS_STUB_LIBRARY) {
        snprintf(detail->chars, sizeof detail->chars, "the CUDA toolkit's link stub, not a driver");
        return CUSHIM_OUTCOME_LINK_STUB;
    }
    if (cushim_platform_find_function(module, driver_description.required) == NULL) {
        snprintf(detail->chars, sizeof detail->chars, "not a CUDA driver: it has no cuInit");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    return CUSHIM_OUTCOME_LOADED;
}

/* "cuMemcpyHtoD_v2_ptds" is the ptds variant of ABI 2 of the base name cuMemcpyHtoD. */
typedef struct {
    char text[128];
    bool per_thread;
} BaseName;

static bool ends_with(const char *text, size_t length, const char *ending) {
    const size_t size = strlen(ending);
    return length > size && memcmp(text + length - size, ending, size) == 0;
}

static BaseName base_name(const char *exported) {
    BaseName base = {0};
    size_t length = strlen(exported);
    if (ends_with(exported, length, "_ptsz") || ends_with(exported, length, "_ptds")) {
        base.per_thread = true;
        length -= 5;
    }
    size_t digits = 0;
    while (digits < length && exported[length - 1 - digits] >= '0' &&
           exported[length - 1 - digits] <= '9') {
        ++digits;
    }
    if (digits > 0 && ends_with(exported, length - digits, "_v")) {
        length -= digits + 2;
    }
    if (length < sizeof base.text) {
        memcpy(base.text, exported, length);
    }
    return base;
}

/* With plain types, so that this file needs no CUDA header: a CUresult and a
 * CUdriverProcAddressQueryResult are ints. */
typedef int(CUSHIM_CUDA_CALL *EntryQuery)(const char *, cushim_function *, int, unsigned long long,
                                          int *);
enum { legacy_stream = 1, per_thread_stream = 2 };

/* Requests the ABI of the row from the driver: its base name at the version that introduced this
 * ABI, never at the installed version. */
static cushim_function ask_driver(const SearchRecord *driver, const char *name, int introduced) {
    if (introduced == 0 || (driver->report.version != 0 && introduced > driver->report.version)) {
        return NULL;
    }
    const cushim_function ask =
        cushim_platform_find_function(driver->module, "cuGetProcAddress_v2");
    if (ask == NULL) {
        return NULL;
    }
    const BaseName base = base_name(name);
    cushim_function function = NULL;
    int found = 0; // CU_GET_PROC_ADDRESS_SUCCESS
    const int status =
        ((EntryQuery)ask)(base.text, &function, introduced,
                          base.per_thread ? per_thread_stream : legacy_stream, &found);
    return status == 0 && found == 0 ? function : NULL;
}

cushim_function cushim_find_in_driver(const SearchRecord *driver, const char *name,
                                      int introduced) {
    cushim_function function = cushim_find_exported(driver, name);
    if (function == NULL) {
        function = ask_driver(driver, name, introduced);
    }
    return function != NULL ? cushim_with_own_codes(name, function) : NULL;
}

const char *cushim_driver_hint(cushim_reason reason, bool chosen) {
    switch (reason) {
    case CUSHIM_REASON_LINK_STUB:
        if (chosen) {
            return "set the path in CUSHIM_DRIVER or in the program's settings to that of the "
                   "driver; the stub is for linking only";
        }
        return "install the NVIDIA driver, or start the container with GPU access (docker run "
               "--gpus all); remove the toolkit's stubs folder from the library search path, since "
               "it is for linking only";
    case CUSHIM_REASON_UNUSABLE:
        return "install an NVIDIA driver for this system and architecture";
    case CUSHIM_REASON_NOT_FOUND:
        return driver_description.hint;
    default:
        return NULL;
    }
}

Library cushim_driver_library = {
    .description = &driver_description,
    .next = &cushim_runtime_library,
    .listed = &cushim_driver_library,
    .number = CUSHIM_LIBRARY_DRIVER,
};
