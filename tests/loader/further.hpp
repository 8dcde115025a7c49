// A further library for tests, with the code that is otherwise generated: further_fake.c.
#pragma once

#include <cushim/detail/library.h>
#include <cushim/override.hpp>

namespace further {

#if defined(_WIN32)
inline constexpr const char *file_name = "further.dll", *other_name = "further_other.dll";
inline constexpr const char *package_folder = "nvidia\\further\\bin";
#else
inline constexpr const char *file_name = "libfurther.so.4", *other_name = "libfurther.so";
inline constexpr const char *package_folder = "nvidia/further/lib";
#endif
inline constexpr const char *file_names[] = {file_name, other_name, nullptr};
inline constexpr const char *package_folders[] = {package_folder, nullptr};

constexpr cushim_library_description describe(unsigned int places, int version_kind,
                                              const char *version_function, int major_unit = 0,
                                              int minor_unit = 0, const char *name = "further") {
    return {
        .size = sizeof(cushim_library_description),
        .name = name,
        .title = "Further",
        .variable = "CUSHIM_FURTHER",
        .file_names = file_names,
        .package_folders = package_folders,
        .places = places,
        .required = "furtherInit",
        .version_function = version_function,
        .version_kind = version_kind,
        .version_major_unit = major_unit,
        .version_minor_unit = minor_unit,
        .major = 4,
        .hint = "install Further",
    };
}

constexpr cushim_loadable loadable_of(const cushim_library_description &description) {
    cushim_loadable library = {};
    library.description = &description;
    return library;
}

inline constexpr cushim_library_description description = describe(
    CUSHIM_PLACE_TOOLKIT | CUSHIM_PLACE_PACKAGES, CUSHIM_VERSION_MAJOR_MINOR, "furtherMajorMinor");
inline constinit cushim_loadable library = loadable_of(description);

inline cushim_library number() {
    return cushim_library_of(&library);
}

// What the calls return if they are not forwarded.
constexpr int absent = -1, missing = -2;

using Add = int (*)(int, int, int *);
using Gone = int (*)();

int first_add(int left, int right, int *sum);
int first_gone();
inline Add add_slot = first_add;
inline Gone gone_slot = first_gone;
inline constexpr char add_row[] = "\0\0furtherAdd", gone_row[] = "\0\0furtherGone";

template <class Function>
int first_call(Function *slot, Function first, const char *row) {
    const int result =
        cushim_first_call_library(&library, reinterpret_cast<cushim_function *>(slot),
                                  reinterpret_cast<cushim_function>(first), row);
    return result == CUSHIM_CALL_READY ? 0 : result == CUSHIM_CALL_ABSENT ? absent : missing;
}

inline int first_add(int left, int right, int *sum) {
    const int status = first_call(&add_slot, first_add, add_row);
    return status == 0 ? CUSHIM_LOAD_SLOT(add_slot)(left, right, sum) : status;
}
inline int first_gone() {
    const int status = first_call(&gone_slot, first_gone, gone_row);
    return status == 0 ? CUSHIM_LOAD_SLOT(gone_slot)() : status;
}

// As a program calls them.
inline int add(int left, int right, int *sum) {
    return CUSHIM_LOAD_SLOT(add_slot)(left, right, sum);
}
inline int gone() {
    return CUSHIM_LOAD_SLOT(gone_slot)();
}

namespace entry {

struct add {
    using pfn = Add;
    static constexpr const char *name = "furtherAdd";
    static constexpr int introduced = 0;
    static cushim_library library() noexcept { return number(); }
    static constexpr pfn *slot = &add_slot;
    static constexpr pfn first = first_add;
};

// No version of the library has it.
struct gone {
    using pfn = Gone;
    static constexpr const char *name = "furtherGone";
    static constexpr int introduced = 0;
    static cushim_library library() noexcept { return number(); }
    static constexpr pfn *slot = &gone_slot;
    static constexpr pfn first = first_gone;
};

} // namespace entry

inline void visit_rows(cushim_row_visitor visit, void *user) {
    visit(user, reinterpret_cast<cushim_function *>(&add_slot),
          reinterpret_cast<cushim_function>(first_add), add_row);
    visit(user, reinterpret_cast<cushim_function *>(&gone_slot),
          reinterpret_cast<cushim_function>(first_gone), gone_row);
}
inline constexpr const char *left_out[] = {"int furtherOdd(...)", nullptr};
inline constexpr cushim_library_rows rows = {visit_rows, left_out};

inline cushim_library entry_points() {
    return cushim_library_with_rows(&library, &rows);
}

} // namespace further
