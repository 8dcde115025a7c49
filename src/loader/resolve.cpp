#include "resolve.hpp"

#include <cushim/detail/loader.h>

#include "first_call.hpp"

namespace cushim {

namespace {

int absent_status(const Library &library, const LoadedLibrary *record) {
    return library.special != nullptr ? library.special->absent_status(record) : CUSHIM_CALL_ABSENT;
}

int missing_status(const Library &library, const LoadedLibrary &loaded, int introduced) {
    if (library.special == nullptr) {
        return CUSHIM_CALL_MISSING;
    }
    const int installed = loaded.report.version;
    return introduced != 0 && installed != 0 && introduced > installed
               ? status_requires_newer_driver
               : status_symbol_not_found;
}

Resolved resolve_in(const LoadedLibrary &loaded, const Library &library, const char *name,
                    int introduced) {
    const cushim_function function = library.special != nullptr
                                         ? library.special->find(loaded, name, introduced)
                                         : find_exported(loaded, name);
    if (function == nullptr) {
        return {nullptr, missing_status(library, loaded, introduced)};
    }
    return {function, 0};
}

} // namespace

cushim_function find_exported(const LoadedLibrary &loaded, const char *name) {
    return reinterpret_cast<cushim_function>(platform::find_symbol(loaded.module, name));
}

Resolved resolve(Library &library, const char *name, int introduced) {
    const LoadedLibrary *record = ensure_loaded(library);
    return is_used(record) ? resolve_in(*record, library, name, introduced)
                           : Resolved{nullptr, absent_status(library, record)};
}

int resolve_slot_in(const LoadedLibrary &loaded, const Library &library, cushim_function *slot,
                    cushim_function first, const char *name, int introduced) {
    const Resolved found = resolve_in(loaded, library, name, introduced);
    if (found.function == nullptr) {
        return found.status;
    }
    cushim_function expected = first;
    atomics::replace(slot, expected, found.function);
    return 0;
}

int resolve_slot(Library &library, cushim_function *slot, cushim_function first, const char *name,
                 int introduced) {
    const auto status = [&](const LoadedLibrary *record) { return absent_status(library, record); };
    return resolve_slot(library, status, slot, first, name, introduced);
}

} // namespace cushim

using namespace cushim;

extern "C" int cushim_absent_status(cushim_library number) noexcept {
    Library *library = library_numbered(number);
    if (library == nullptr) {
        return CUSHIM_CALL_ABSENT;
    }
    const LoadedLibrary *record = ensure_loaded(*library);
    return is_used(record) ? 0 : absent_status(*library, record);
}

extern "C" int cushim_first_call_library(cushim_loadable *library, cushim_function *slot,
                                         cushim_function first, const char *row) noexcept {
    const RowText text = {row};
    return resolve_slot(listed(*library), slot, first, text.name(), text.introduced());
}

extern "C" cushim_function cushim_resolve_entry(cushim_library number, cushim_function *slot,
                                                cushim_function first, const char *name,
                                                int introduced, int *status) noexcept {
    cushim_function function = atomics::load(slot);
    *status = 0;
    if (function != first) {
        return function;
    }
    Library *library = library_numbered(number);
    *status = library != nullptr ? resolve_slot(*library, slot, first, name, introduced)
                                 : CUSHIM_CALL_ABSENT;
    if (*status != 0) {
        return nullptr;
    }
    function = atomics::load(slot);
    // An override that just ended restored the thunk; calling it is correct and resolves again.
    return function;
}
