/* The driver: its description, and what it does besides. The toolkit's link stub has the driver's
 * functions and is not one. Functions are also requested from cuGetProcAddress_v2. */
#include <stdio.h>
#include <string.h>

#include "first_call.hpp"
#include "own_codes.hpp"
#include "resolve.hpp"

namespace cushim {

namespace {

constexpr cushim_library_description driver_description = {
    sizeof driver_description,
    "driver",
    "CUDA driver",
    "CUSHIM_DRIVER",
    platform::driver_names,
    nullptr, // not in Python packages
    CUSHIM_PLACE_DRIVER,
    "cuInit",
    "cuDriverGetVersion",
    CUSHIM_VERSION_WRITTEN,
    0,
    0,
    0, // any version
    "install the NVIDIA driver, or start the container with GPU access (docker run --gpus all)",
};

cushim_outcome judge_driver(platform::Module module, int version_status, platform::Text &detail) {
    if (version_status == status_stub_library) {
        snprintf(detail.chars, sizeof detail.chars, "the CUDA toolkit's link stub, not a driver");
        return CUSHIM_OUTCOME_LINK_STUB;
    }
    if (platform::find_symbol(module, driver_description.required) == nullptr) {
        snprintf(detail.chars, sizeof detail.chars, "not a CUDA driver: it has no cuInit");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    return CUSHIM_OUTCOME_LOADED;
}

/* "cuMemcpyHtoD_v2_ptds" is the ptds variant of ABI 2 of the base name cuMemcpyHtoD. */
struct BaseName {
    char text[128];
    bool per_thread;
};

bool ends_with(const char *text, size_t length, const char *ending) {
    const size_t size = strlen(ending);
    return length > size && memcmp(text + length - size, ending, size) == 0;
}

BaseName base_name(const char *exported) {
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
using AskForEntry = int(CUSHIM_CUDA_CALL *)(const char *, void **, int, unsigned long long, int *);

/* Requests the ABI of the row from the driver: its base name at the version that introduced this
 * ABI, never at the installed version. */
cushim_function ask_driver(const LoadedLibrary &driver, const char *name, int introduced) {
    if (introduced == 0 || (driver.report.version != 0 && introduced > driver.report.version)) {
        return nullptr;
    }
    void *ask = platform::find_symbol(driver.module, "cuGetProcAddress_v2");
    if (ask == nullptr) {
        return nullptr;
    }
    const BaseName base = base_name(name);
    constexpr unsigned long long legacy_stream = 1, per_thread_stream = 2;
    void *function = nullptr;
    int found = 0; // CU_GET_PROC_ADDRESS_SUCCESS
    const int status = reinterpret_cast<AskForEntry>(ask)(
        base.text, &function, introduced, base.per_thread ? per_thread_stream : legacy_stream,
        &found);
    return status == 0 && found == 0 ? reinterpret_cast<cushim_function>(function) : nullptr;
}

cushim_function find_in_driver(const LoadedLibrary &driver, const char *name, int introduced) {
    cushim_function function = find_exported(driver, name);
    if (function == nullptr) {
        function = ask_driver(driver, name, introduced);
    }
    return function != nullptr ? with_own_codes(name, function) : nullptr;
}

int absent_driver_status(const LoadedLibrary *record) {
    return record != nullptr && record->report.reason == CUSHIM_REASON_LINK_STUB
               ? status_stub_library
               : status_library_not_found;
}

const char *hint(cushim_reason reason, bool chosen) {
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
        return nullptr;
    }
}

constexpr cushim_special driver_special = {
    "the driver", false, judge_driver, find_in_driver, absent_driver_status, hint};

} // namespace

constinit Library driver_library = {
    &driver_description, nullptr,         &driver_special,      nullptr, nullptr,
    &runtime_library,    &driver_library, CUSHIM_LIBRARY_DRIVER};

} // namespace cushim

using namespace cushim;

extern "C" int cushim_first_call_driver(cushim_function *slot, cushim_function first,
                                        const char *row) noexcept {
    const RowText text = {row};
    return resolve_slot(driver_library, absent_driver_status, slot, first, text.name(),
                        text.introduced());
}
