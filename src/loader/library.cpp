#include "library.hpp"

#include <string.h>

namespace cushim {

namespace {

bool is_same(const cushim_library_description &left, const cushim_library_description &right) {
    return strcmp(left.name, right.name) == 0 && left.major == right.major &&
           strcmp(file_name_of(left), file_name_of(right)) == 0;
}

/* A thread that fails to append at the end continues from there, and meets the library that was
 * appended meanwhile. So all threads find the same library and number. */
Library &listed_now(Library &library) {
    Library *at = &driver_library;
    int number = 0;
    while (!is_same(*at->description, *library.description)) {
        Library *next = nullptr;
        at = atomics::replace(&at->next, next, &library) ? &library : next;
        ++number;
    }
    // The list refers to it. Before the C library is initialized, it is in the program itself.
    if (platform::is_initialized()) {
        platform::pin_module_of(&library);
    }
    atomics::store(&at->number, number);
    atomics::store(&library.listed, at);
    return *at;
}

} // namespace

Library *library_numbered(cushim_library number) {
    Library *library = &driver_library;
    for (int i = 0; library != nullptr && i < static_cast<int>(number); ++i) {
        library = atomics::load(&library->next);
    }
    return static_cast<int>(number) >= 0 ? library : nullptr;
}

Library &listed(Library &library) {
    Library *known = atomics::load(&library.listed);
    return known != nullptr ? *known : listed_now(library);
}

} // namespace cushim

using namespace cushim;

extern "C" cushim_library cushim_library_of(cushim_loadable *library) noexcept {
    return static_cast<cushim_library>(atomics::load(&listed(*library).number));
}

extern "C" cushim_library cushim_library_with_rows(cushim_loadable *library,
                                                   const cushim_library_rows *rows) noexcept {
    atomics::store(&listed(*library).rows, rows);
    return cushim_library_of(library);
}

extern "C" const char *cushim_library_title(cushim_library number) noexcept {
    const Library *library = library_numbered(number);
    return library != nullptr ? library->description->title : "";
}
