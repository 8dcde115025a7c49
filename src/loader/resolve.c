#include "resolve.h"

#include <cushim/detail/loader.h>

#include "first_call.h"

static int absent_further(const LoadedLibrary *record) {
    (void)record;
    return CUSHIM_CALL_ABSENT;
}

static int absent_status(const Library *library, const LoadedLibrary *record) {
    return library->special != NULL ? library->special->absent_status(record)
                                    : absent_further(record);
}

static int missing_status(const Library *library, const LoadedLibrary *loaded, int introduced) {
    if (library->special == NULL) {
        return CUSHIM_CALL_MISSING;
    }
    const int installed = loaded->report.version;
    return introduced != 0 && installed != 0 && introduced > installed
               ? CUSHIM_STATUS_REQUIRES_NEWER_DRIVER
               : CUSHIM_STATUS_SYMBOL_NOT_FOUND;
}

cushim_function cushim_find_exported(const LoadedLibrary *loaded, const char *name) {
    return cushim_platform_find_function(loaded->module, name);
}

static cushim_function resolve_in(const LoadedLibrary *loaded, const Library *library,
                                  const char *name, int introduced, int *status) {
    const cushim_function function = library->special != NULL
                                         ? library->special->find(loaded, name, introduced)
                                         : cushim_find_exported(loaded, name);
    *status = function != NULL ? 0 : missing_status(library, loaded, introduced);
    return function;
}

cushim_function cushim_resolve(Library *library, const char *name, int introduced, int *status) {
    const LoadedLibrary *record = cushim_ensure_loaded(library);
    if (cushim_is_used(record)) {
        return resolve_in(record, library, name, introduced, status);
    }
    *status = absent_status(library, record);
    return NULL;
}

int cushim_resolve_slot_in(const LoadedLibrary *loaded, const Library *library,
                           cushim_function *slot, cushim_function first, const char *name,
                           int introduced) {
    int status;
    const cushim_function found = resolve_in(loaded, library, name, introduced, &status);
    if (found != NULL) {
        cushim_function expected = first;
        CUSHIM_REPLACE(slot, &expected, found);
    }
    return status;
}

int cushim_resolve_slot(Library *library, cushim_function *slot, cushim_function first,
                        const char *name, int introduced) {
    return cushim_resolve_slot_of(
        library, library->special != NULL ? library->special->absent_status : absent_further, slot,
        first, name, introduced);
}

int cushim_absent_status(cushim_library number) CUSHIM_NOEXCEPT {
    Library *library = cushim_library_numbered(number);
    if (library == NULL) {
        return CUSHIM_CALL_ABSENT;
    }
    const LoadedLibrary *record = cushim_ensure_loaded(library);
    return cushim_is_used(record) ? 0 : absent_status(library, record);
}

int cushim_first_call_library(cushim_loadable *library, cushim_function *slot,
                              cushim_function first, const char *row) CUSHIM_NOEXCEPT {
    return cushim_resolve_slot(cushim_listed(library), slot, first, cushim_row_name(row),
                               cushim_row_introduced(row));
}

cushim_function cushim_resolve_entry(cushim_library number, cushim_function *slot,
                                     cushim_function first, const char *name, int introduced,
                                     int *status) CUSHIM_NOEXCEPT {
    const cushim_function function = CUSHIM_LOAD(cushim_function, slot);
    *status = 0;
    if (function != first) {
        return function;
    }
    Library *library = cushim_library_numbered(number);
    *status = library != NULL ? cushim_resolve_slot(library, slot, first, name, introduced)
                              : CUSHIM_CALL_ABSENT;
    // An override that just ended restored the first-call function, which resolves again.
    return *status == 0 ? CUSHIM_LOAD(cushim_function, slot) : NULL;
}
