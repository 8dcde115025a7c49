#include "library.h"

#include <cushim/detail/loader.h>

#include <string.h>

#include "search.h"
#include "settings.h"

static bool is_same(const Library *left, const Library *right) {
    return strcmp(left->description->name, right->description->name) == 0 &&
           left->description->major == right->description->major &&
           strcmp(cushim_file_name_of(left), cushim_file_name_of(right)) == 0;
}

/* If another thread appends first, this one continues with the library that it appended. So all
 * threads find the same library and number. */
static Library *listed_now(Library *library) {
    Library *at = &cushim_driver_library;
    int number = 0;
    while (!is_same(at, library)) {
        Library *next = NULL;
        at = CUSHIM_REPLACE(&at->next, &next, library) ? library : next;
        ++number;
    }
    // The list refers to the library, so its module must stay loaded. Before the C library is
    // initialized, that module is the program, which is never unloaded.
    if (cushim_platform_is_initialized()) {
        cushim_platform_pin_module_of(library);
    }
    CUSHIM_STORE(&at->number, number);
    CUSHIM_STORE(&library->listed, at);
    return at;
}

Library *cushim_library_numbered(cushim_library number) {
    Library *library = &cushim_driver_library;
    for (int i = 0; library != NULL && i < (int)number; ++i) {
        library = CUSHIM_LOAD(&library->next);
    }
    return (int)number >= 0 ? library : NULL;
}

Library *cushim_listed(Library *library) {
    Library *known = CUSHIM_LOAD(&library->listed);
    return known != NULL ? known : listed_now(library);
}

cushim_library cushim_library_of(cushim_loadable *library) {
    return (cushim_library)CUSHIM_LOAD(&cushim_listed(library)->number);
}

cushim_library cushim_library_with_rows(cushim_loadable *library, const cushim_library_rows *rows) {
    CUSHIM_STORE(&cushim_listed(library)->rows, rows);
    return cushim_library_of(library);
}

const char *cushim_library_title(cushim_library number) {
    const Library *library = cushim_library_numbered(number);
    return library != NULL ? library->description->title : "";
}

/* Whether the reason for which a record is provisional no longer applies. */
static bool is_outdated(const SearchRecord *record) {
    return record->lacks_driver && cushim_is_usable(cushim_ensure_loaded(&cushim_driver_library));
}

/* The driver's record, for the search for this library. libcudart binds to the libcuda.so.1 of the
 * process, so the driver must be loaded before it; and the folder of a driver with a chosen path
 * determines where the libraries are that come with it. */
static const SearchRecord *driver_before(const Library *library) {
    switch (cushim_kind_of(library)) {
    case KIND_DRIVER:
        return NULL;
    case KIND_RUNTIME:
        return cushim_ensure_loaded(&cushim_driver_library);
    case KIND_FURTHER:
        break;
    }
    return cushim_may_be_beside_driver(library) &&
                   cushim_chosen_path(&cushim_driver_library) != NULL
               ? cushim_ensure_loaded(&cushim_driver_library)
               : cushim_current_record(&cushim_driver_library);
}

/* Searches, and publishes the result in place of `before`, which stays if the result is the same:
 * programs poll by cushim_reload(). Another thread may publish meanwhile: a library that was found
 * replaces an absent one, and a library in use is never replaced. */
static const SearchRecord *search_and_publish(Library *library, SearchRecord *before) {
    if (!cushim_platform_is_initialized()) {
        return before;
    }
    cushim_freeze_settings(library);
    SearchRecord *found = cushim_search(library, driver_before(library));
    if (found == NULL) {
        return before;
    }
    if (before != NULL && cushim_is_same_result(before, found)) {
        if (found->module != NULL) { // opened once more
            cushim_platform_close(found->module);
        }
        cushim_discard(found);
        return before;
    }
    SearchRecord *expected = before;
    do {
        found->previous = expected;
        if (CUSHIM_REPLACE(&library->record, &expected, found)) {
            // Slots point into the library, and threads keep state here, so both stay loaded.
            cushim_platform_pin_own_module();
            return found;
        }
    } while (cushim_is_usable(found) && !cushim_is_usable(expected));
    cushim_discard(found);
    return expected;
}

static cushim_state state_of(const SearchRecord *record) {
    return cushim_is_usable(record) ? CUSHIM_STATE_LOADED : CUSHIM_STATE_ABSENT;
}

static cushim_state reload(Library *library) {
    if (cushim_kind_of(library) == KIND_RUNTIME) {
        reload(&cushim_driver_library);
    }
    SearchRecord *record = cushim_current_record(library);
    return state_of(cushim_is_usable(record) ? record : search_and_publish(library, record));
}

const SearchRecord *cushim_load_now(Library *library) {
    SearchRecord *record = cushim_current_record(library);
    return record != NULL && !is_outdated(record) ? record : search_and_publish(library, record);
}

cushim_state cushim_load(cushim_library number) {
    Library *library = cushim_library_numbered(number);
    return library != NULL ? state_of(cushim_ensure_loaded(library)) : CUSHIM_STATE_ABSENT;
}

cushim_state cushim_reload(cushim_library number) {
    Library *library = cushim_library_numbered(number);
    return library != NULL ? reload(library) : CUSHIM_STATE_ABSENT;
}

int cushim_library_version(cushim_library number) {
    Library *library = cushim_library_numbered(number);
    const SearchRecord *record = library != NULL ? cushim_ensure_loaded(library) : NULL;
    return record != NULL ? record->report.version : 0;
}

int cushim_is_chosen_by_path(cushim_library number) {
    const Library *library = cushim_library_numbered(number);
    const SearchRecord *record = library != NULL ? cushim_current_record(library) : NULL;
    return record != NULL && record->chosen;
}

int cushim_headers_version(void) {
    return CUSHIM_CUDA_VERSION;
}

const char *cushim_version(void) {
    return CUSHIM_VERSION_TEXT;
}
