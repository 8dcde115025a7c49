#include "library.hpp"

namespace cushim {

/* The list begins with the driver, which links to the runtime. Both are linked from their own
 * constants, so it exists before any code runs. */
Library *library_numbered(cushim_library number) {
    Library *library = &driver_library;
    for (int i = 0; library != nullptr && i < static_cast<int>(number); ++i)
        library = atomics::load(&library->next);
    return static_cast<int>(number) >= 0 ? library : nullptr;
}

/* Threads that race to append the same library compute the same number: whoever fails to append at
 * the end goes on from there, and meets the library. */
cushim_library number_of(Library &library) {
    int number = atomics::load(&library.number);
    if (number != 0 || &library == &driver_library)
        return static_cast<cushim_library>(number);
    for (Library *at = &driver_library; at != &library; ++number) {
        Library *next = nullptr;
        const bool appended = atomics::replace(&at->next, next, &library);
        at = appended ? &library : next;
    }
    // The list refers to it. Before the C library is initialized, it is in the program itself.
    if (platform::is_initialized())
        platform::pin_module_of(&library);
    atomics::store(&library.number, number);
    return static_cast<cushim_library>(number);
}

} // namespace cushim

using namespace cushim;

extern "C" cushim_library cushim_library_of(cushim_loadable *library) noexcept {
    return number_of(*library);
}

extern "C" cushim_library cushim_library_with_rows(cushim_loadable *library,
                                                   const cushim_library_rows *rows) noexcept {
    atomics::store(&library->rows, rows);
    return cushim_library_of(library);
}

extern "C" const char *cushim_library_title(cushim_library number) noexcept {
    const Library *library = library_numbered(number);
    return library != nullptr ? library->description->title : "";
}
