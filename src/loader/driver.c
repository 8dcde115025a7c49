/* The driver: its description, and what it does besides. The toolkit's link stub has the driver's
 * functions and is not one. Functions are also requested from cuGetProcAddress_v2. */
#include <stdio.h>
#include <string.h>

#include "first_call.h"
#include "own_codes.h"
#include "resolve.h"

static const cushim_library_description driver_description = {
    sizeof driver_description,
    "driver",
    "CUDA driver",
    "CUSHIM_DRIVER",
    cushim_platform_driver_names,
    NULL, // not in Python packages
    CUSHIM_PLACE_DRIVER,
    "cuInit",
    "cuDriverGetVersion",
    CUSHIM_VERSION_WRITTEN,
    0,
    0,
    0, // any version
    "install the NVIDIA driver, or start the container with GPU access (docker run --gpus all)",
};

static cushim_outcome judge_driver(Module module, int version_status, Text *detail) {
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
typedef struct CushimBaseName {
    char text[128];
    bool per_thread;
} BaseName;

static bool ends_with(const char *text, size_t length, const char *ending) {
    const size_t size = strlen(ending);
    return length > size && memcmp(text + length - size, ending, size) == 0;
}

static BaseName base_name(const char *exported) {
    BaseName base = {{0}, false};
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
static cushim_function ask_driver(const LoadedLibrary *driver, const char *name, int introduced) {
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

static cushim_function find_in_driver(const LoadedLibrary *driver, const char *name,
                                      int introduced) {
    cushim_function function = cushim_find_exported(driver, name);
    if (function == NULL) {
        function = ask_driver(driver, name, introduced);
    }
    return function != NULL ? cushim_with_own_codes(name, function) : NULL;
}

static int absent_driver_status(const LoadedLibrary *record) {
    return record != NULL && record->report.reason == CUSHIM_REASON_LINK_STUB
               ? CUSHIM_STATUS_STUB_LIBRARY
               : CUSHIM_STATUS_LIBRARY_NOT_FOUND;
}

static const char *hint(cushim_reason reason, bool chosen) {
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

static const cushim_special driver_special = {
    "the driver", false, judge_driver, find_in_driver, absent_driver_status, hint};

Library cushim_driver_library = {&driver_description,
                                 NULL,
                                 &driver_special,
                                 NULL,
                                 NULL,
                                 &cushim_runtime_library,
                                 &cushim_driver_library,
                                 CUSHIM_LIBRARY_DRIVER};

int cushim_first_call_driver(cushim_function *slot, cushim_function first, const char *row) {
    return cushim_resolve_slot_of(&cushim_driver_library, absent_driver_status, slot, first,
                                  cushim_row_name(row), cushim_row_introduced(row));
}
