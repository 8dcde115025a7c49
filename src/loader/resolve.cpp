#include "resolve.hpp"

#include <string.h>

#include <cushim/detail/loader.h>

#include "atomics.hpp"
#include "first_call.hpp"
#include "own_codes.hpp"
#include "registration.hpp"

namespace cushim {

namespace {

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
           exported[length - 1 - digits] <= '9')
        ++digits;
    if (digits > 0 && ends_with(exported, length - digits, "_v"))
        length -= digits + 2;
    if (length < sizeof base.text)
        memcpy(base.text, exported, length);
    return base;
}

/* With plain types, so that this file needs no CUDA header: a CUresult and a
 * CUdriverProcAddressQueryResult are ints. */
using GetProcAddress = int(CUSHIM_CUDA_CALL *)(const char *, void **, int, unsigned long long,
                                               int *);

/* Requests the ABI of the row from the driver: its base name at the version that introduced this
 * ABI, never at the installed version. */
cushim_function ask_driver(const LoadedLibrary &driver, const char *name, int introduced) {
    if (introduced == 0 || (driver.report.version != 0 && introduced > driver.report.version))
        return nullptr;
    void *ask = platform::find_symbol(driver.module, "cuGetProcAddress_v2");
    if (ask == nullptr)
        return nullptr;
    const BaseName base = base_name(name);
    constexpr unsigned long long legacy_stream = 1, per_thread_stream = 2;
    void *function = nullptr;
    int found = 0; // CU_GET_PROC_ADDRESS_SUCCESS
    const int status = reinterpret_cast<GetProcAddress>(ask)(
        base.text, &function, introduced, base.per_thread ? per_thread_stream : legacy_stream,
        &found);
    return status == 0 && found == 0 ? reinterpret_cast<cushim_function>(function) : nullptr;
}

int missing_status(const LoadedLibrary &library, int introduced) {
    const int installed = library.report.version;
    return introduced != 0 && installed != 0 && introduced > installed
               ? status_requires_newer_driver
               : status_symbol_not_found;
}

/* The status that functions of an absent library return. */
int absent_status(cushim_library library, const LoadedLibrary *record) {
    if (library == CUSHIM_LIBRARY_RUNTIME)
        return is_used(ensure_loaded(CUSHIM_LIBRARY_DRIVER)) ? status_library_not_found
                                                             : status_insufficient_driver;
    return record != nullptr && record->report.reason == CUSHIM_REASON_LINK_STUB
               ? status_stub_library
               : status_library_not_found;
}

} // namespace

PassOnRegistrations *pass_on_registrations;

Resolved resolve(cushim_library library, const char *name, int introduced) {
    const LoadedLibrary *record = ensure_loaded(library);
    if (!is_used(record))
        return {nullptr, absent_status(library, record)};
    if (library == CUSHIM_LIBRARY_RUNTIME) {
        if (PassOnRegistrations *pass_on = atomics::load(&pass_on_registrations))
            pass_on(*record);
    }
    cushim_function function =
        reinterpret_cast<cushim_function>(platform::find_symbol(record->module, name));
    if (function == nullptr)
        function = ask_driver(*record, name, introduced);
    if (function == nullptr)
        return {nullptr, missing_status(*record, introduced)};
    return {library == CUSHIM_LIBRARY_DRIVER ? with_own_codes(name, function) : function, 0};
}

cushim_function find_in_unused_runtime(const char *name) {
    const LoadedLibrary *record = current_record(CUSHIM_LIBRARY_RUNTIME);
    return record != nullptr && record->module != nullptr
               ? reinterpret_cast<cushim_function>(platform::find_symbol(record->module, name))
               : nullptr;
}

int resolve_slot(cushim_library library, cushim_function *slot, cushim_function first,
                 const char *name, int introduced) {
    const Resolved found = resolve(library, name, introduced);
    if (found.function == nullptr)
        return found.status;
    cushim_function expected = first;
    atomics::replace(slot, expected, found.function);
    return 0;
}

} // namespace cushim

using namespace cushim;

extern "C" int cushim_absent_status(cushim_library library) noexcept {
    const LoadedLibrary *record = ensure_loaded(library);
    return is_used(record) ? 0 : absent_status(library, record);
}

extern "C" int cushim_first_call_driver(cushim_function *slot, cushim_function first,
                                        const char *row) noexcept {
    const RowText text = {row};
    return resolve_slot(CUSHIM_LIBRARY_DRIVER, slot, first, text.name(), text.introduced());
}

extern "C" int cushim_first_call_runtime_quiet(cushim_function *slot, cushim_function first,
                                               const char *row) noexcept {
    const RowText text = {row};
    return resolve_slot(CUSHIM_LIBRARY_RUNTIME, slot, first, text.name(), text.introduced());
}

extern "C" int cushim_first_call_runtime(cushim_function *slot, cushim_function first,
                                         const char *row) noexcept {
    const int status = cushim_first_call_runtime_quiet(slot, first, row);
    if (status != 0 && !is_used(current_record(CUSHIM_LIBRARY_RUNTIME)))
        platform::set_thread_error(status);
    return status;
}

extern "C" cushim_function cushim_resolve_entry(cushim_library library, cushim_function *slot,
                                                cushim_function first, const char *name,
                                                int introduced, int *status) noexcept {
    cushim_function function = atomics::load(slot);
    *status = 0;
    if (function != first)
        return function;
    *status = resolve_slot(library, slot, first, name, introduced);
    if (*status != 0)
        return nullptr;
    function = atomics::load(slot);
    // An override that just ended restored the thunk; calling it is correct and resolves again.
    return function;
}
