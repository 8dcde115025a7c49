/* The runtime: its description, and what it does besides. Without a driver, it is not used. It
 * receives the device code that was registered before it was loaded. */
#include <stdio.h>

#include "first_call.hpp"
#include "registration.hpp"
#include "resolve.hpp"

namespace cushim {

namespace {

constexpr cushim_library_description runtime_description = {
    sizeof runtime_description,
    "runtime",
    "CUDA runtime",
    "CUSHIM_RUNTIME",
    platform::runtime_names,
    platform::runtime_packages,
    CUSHIM_PLACE_BESIDE_DRIVER | CUSHIM_PLACE_TOOLKIT | CUSHIM_PLACE_PACKAGES,
    "cudaGetDeviceCount",
    "cudaRuntimeGetVersion",
    CUSHIM_VERSION_WRITTEN,
    0,
    0,
    CUSHIM_CUDA_MAJOR,
    "install the CUDA " CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) " runtime",
};

cushim_outcome judge_runtime(platform::Module module, int version_status, platform::Text &detail) {
    if (version_status != -1 ||
        platform::find_symbol(module, runtime_description.required) != nullptr) {
        return CUSHIM_OUTCOME_LOADED;
    }
    snprintf(detail.chars, sizeof detail.chars,
             "not a CUDA runtime: it has neither cudaRuntimeGetVersion nor cudaGetDeviceCount");
    return CUSHIM_OUTCOME_NOT_CUDA;
}

cushim_function find_in_runtime(const LoadedLibrary &runtime, const char *name, int) {
    if (PassOnRegistrations *pass_on = atomics::load(&pass_on_registrations)) {
        pass_on(runtime);
    }
    return find_exported(runtime, name);
}

int absent_runtime_status(const LoadedLibrary *) {
    return is_used(ensure_loaded(driver_library)) ? status_library_not_found
                                                  : status_insufficient_driver;
}

constexpr cushim_special runtime_special = {
    "the runtime", true, judge_runtime, find_in_runtime, absent_runtime_status, nullptr};

} // namespace

constinit Library runtime_library = {
    &runtime_description,  nullptr, &runtime_special, nullptr, nullptr, nullptr, &runtime_library,
    CUSHIM_LIBRARY_RUNTIME};

PassOnRegistrations *pass_on_registrations;

cushim_function find_in_unused_runtime(const char *name) {
    const LoadedLibrary *record = current_record(runtime_library);
    return record != nullptr && record->module != nullptr ? find_exported(*record, name) : nullptr;
}

} // namespace cushim

using namespace cushim;

extern "C" int cushim_first_call_runtime_quiet(cushim_function *slot, cushim_function first,
                                               const char *row) noexcept {
    const RowText text = {row};
    return resolve_slot(runtime_library, absent_runtime_status, slot, first, text.name(),
                        text.introduced());
}

extern "C" int cushim_first_call_runtime(cushim_function *slot, cushim_function first,
                                         const char *row) noexcept {
    const int status = cushim_first_call_runtime_quiet(slot, first, row);
    if (status != 0 && !is_used(current_record(runtime_library))) {
        platform::set_thread_error(status);
    }
    return status;
}
