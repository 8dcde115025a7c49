#include "first_call.h"

#include <cushim/detail/loader.h>

#include "driver.h"
#include "runtime.h"

static int missing_status(const Library *library, const SearchRecord *loaded, int introduced) {
    if (cushim_kind_of(library) == KIND_FURTHER) {
        return CUSHIM_CALL_MISSING;
    }
    const int installed = loaded->report.version;
    return introduced != 0 && installed != 0 && introduced > installed
               ? CUSHIM_STATUS_REQUIRES_NEWER_DRIVER
               : CUSHIM_STATUS_SYMBOL_NOT_FOUND;
}

cushim_function cushim_find_exported(const SearchRecord *loaded, const char *name) {
    return cushim_platform_find_function(loaded->module, name);
}

static cushim_function find_in(const SearchRecord *loaded, const Library *library, const char *name,
                               int introduced) {
    switch (cushim_kind_of(library)) {
    case KIND_DRIVER:
        return cushim_find_in_driver(loaded, name, introduced);
    case KIND_RUNTIME:
        return cushim_find_in_runtime(loaded, name);
    case KIND_FURTHER:
        break;
    }
    return cushim_find_exported(loaded, name);
}

static cushim_function find_or_status(const SearchRecord *loaded, const Library *library,
                                      const char *name, int introduced, int *status) {
    const cushim_function function = find_in(loaded, library, name, introduced);
    *status = function != NULL ? 0 : missing_status(library, loaded, introduced);
    return function;
}

cushim_function cushim_find(Library *library, const char *name, int introduced, int *status) {
    const SearchRecord *record = cushim_ensure_loaded(library);
    if (cushim_is_usable(record)) {
        return find_or_status(record, library, name, introduced, status);
    }
    *status = cushim_status_without(library, record);
    return NULL;
}

int cushim_resolve_slot_in(const SearchRecord *loaded, const Library *library,
                           cushim_function *slot, cushim_function first, const char *name,
                           int introduced) {
    int status;
    const cushim_function found = find_or_status(loaded, library, name, introduced, &status);
    if (found != NULL) {
        cushim_function expected = first;
        CUSHIM_REPLACE(slot, &expected, found);
    }
    return status;
}

int cushim_absent_status(cushim_library number) {
    Library *library = cushim_library_numbered(number);
    if (library == NULL) {
        return CUSHIM_CALL_ABSENT;
    }
    const SearchRecord *record = cushim_ensure_loaded(library);
    return cushim_is_usable(record) ? 0 : cushim_status_without(library, record);
}

int cushim_first_call_driver(cushim_function *slot, cushim_function first, const char *row) {
    return cushim_resolve_slot(&cushim_driver_library, slot, first, cushim_row_name(row),
                               cushim_row_introduced(row));
}

int cushim_first_call_runtime_quiet(cushim_function *slot, cushim_function first, const char *row) {
    return cushim_resolve_slot(&cushim_runtime_library, slot, first, cushim_row_name(row),
                               cushim_row_introduced(row));
}

int cushim_first_call_runtime(cushim_function *slot, cushim_function first, const char *row) {
    const int status = cushim_first_call_runtime_quiet(slot, first, row);
    if (status != 0 && !cushim_is_usable(cushim_current_record(&cushim_runtime_library))) {
        cushim_platform_set_thread_error(status);
    }
    return status;
}

int cushim_first_call_library(cushim_loadable *library, cushim_function *slot,
                              cushim_function first, const char *row) {
    return cushim_resolve_slot(cushim_listed(library), slot, first, cushim_row_name(row),
                               cushim_row_introduced(row));
}

cushim_function cushim_resolve_entry(cushim_library number, cushim_function *slot,
                                     cushim_function first, const char *name, int introduced,
                                     int *status) {
    const cushim_function function = CUSHIM_LOAD(slot);
    *status = 0;
    if (function != first) {
        return function;
    }
    Library *library = cushim_library_numbered(number);
    *status = library != NULL ? cushim_resolve_slot(library, slot, first, name, introduced)
                              : CUSHIM_CALL_ABSENT;
    // An override that just ended restored the first-call function, which resolves again.
    return *status == 0 ? CUSHIM_LOAD(slot) : NULL;
}
