#include "library.h"

#include <string.h>

static bool is_same(const Library *left, const Library *right) {
    return strcmp(left->description->name, right->description->name) == 0 &&
           left->description->major == right->description->major &&
           strcmp(cushim_file_name_of(left), cushim_file_name_of(right)) == 0;
}

/* A thread that fails to append at the end continues from there, and meets the library that was
 * appended meanwhile. So all threads find the same library and number. */
static Library *listed_now(Library *library) {
    Library *at = &cushim_driver_library;
    int number = 0;
    while (!is_same(at, library)) {
        Library *next = NULL;
        at = CUSHIM_REPLACE(&at->next, &next, library) ? library : next;
        ++number;
    }
    // The list refers to it. Before the C library is initialized, it is in the program itself.
    if (cushim_platform_is_initialized()) {
        cushim_platform_pin_module_of(library);
    }
    CUSHIM_STORE(int, &at->number, number);
    CUSHIM_STORE(Library *, &library->listed, at);
    return at;
}

Library *cushim_library_numbered(cushim_library number) {
    Library *library = &cushim_driver_library;
    for (int i = 0; library != NULL && i < (int)number; ++i) {
        library = CUSHIM_LOAD(Library *, &library->next);
    }
    return (int)number >= 0 ? library : NULL;
}

Library *cushim_listed(Library *library) {
    Library *known = CUSHIM_LOAD(Library *, &library->listed);
    return known != NULL ? known : listed_now(library);
}

cushim_library cushim_library_of(cushim_loadable *library) CUSHIM_NOEXCEPT {
    return (cushim_library)CUSHIM_LOAD(int, &cushim_listed(library)->number);
}

cushim_library cushim_library_with_rows(cushim_loadable *library,
                                        const cushim_library_rows *rows) CUSHIM_NOEXCEPT {
    CUSHIM_STORE(const cushim_library_rows *, &cushim_listed(library)->rows, rows);
    return cushim_library_of(library);
}

const char *cushim_library_title(cushim_library number) CUSHIM_NOEXCEPT {
    const Library *library = cushim_library_numbered(number);
    return library != NULL ? library->description->title : "";
}
