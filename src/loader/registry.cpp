/* The functions of loader.h that list entry points or look them up by name. */
#include "registry.hpp"

#include <string.h>

#include "resolve.hpp"

namespace cushim {

namespace {

const char *const nothing[] = {nullptr};

/* No rows for a library whose rows are not linked. */
cushim_library_rows rows_of(const Library *library) {
    if (library == &driver_library) {
        return {visit_driver_rows, driver_left_out()};
    }
    if (library == &runtime_library) {
        return {visit_runtime_rows, runtime_left_out()};
    }
    const cushim_library_rows *rows = library != nullptr ? atomics::load(&library->rows) : nullptr;
    return rows != nullptr ? *rows : cushim_library_rows{[](RowVisitor, void *) {}, nothing};
}

void visit_rows(const Library *library, RowVisitor visit, void *user) {
    rows_of(library).visit(visit, user);
}

cushim_entry_point describe(Library &library, RowText text) {
    const Resolved found = resolve(library, text.name(), text.introduced());
    return {text.name(), text.introduced(), found.status};
}

struct Visit {
    Library *library; // not nullptr where a row is visited
    cushim_visitor visitor;
    void *user;
    size_t count;
};

struct ByName {
    const char *name;
    Row row; // its slot is nullptr until it is found
};

bool find_row(const Library *library, const char *name, Row &row) {
    ByName wanted = {name, {nullptr, nullptr, {nullptr}}};
    visit_rows(
        library,
        [](void *user, cushim_function *slot, cushim_function first, const char *text) {
            ByName &by_name = *static_cast<ByName *>(user);
            if (strcmp(RowText{text}.name(), by_name.name) == 0) {
                by_name.row = {slot, first, {text}};
            }
        },
        &wanted);
    row = wanted.row;
    return row.slot != nullptr;
}

} // namespace

} // namespace cushim

using namespace cushim;

extern "C" size_t cushim_visit_entry_points(cushim_library number, cushim_visitor visitor,
                                            void *user) noexcept {
    Visit visit = {library_numbered(number), visitor, user, 0};
    visit_rows(
        visit.library,
        [](void *argument, cushim_function *, cushim_function, const char *text) {
            Visit &all = *static_cast<Visit *>(argument);
            const cushim_entry_point entry_point = describe(*all.library, RowText{text});
            ++all.count;
            if (all.visitor != nullptr) {
                all.visitor(&entry_point, all.user);
            }
        },
        &visit);
    return visit.count;
}

extern "C" size_t cushim_resolve_all(cushim_library number) noexcept {
    Visit visit = {library_numbered(number), nullptr, nullptr, 0};
    visit_rows(
        visit.library,
        [](void *argument, cushim_function *slot, cushim_function first, const char *text) {
            Visit &all = *static_cast<Visit *>(argument);
            const RowText row = {text};
            if (resolve_slot(*all.library, slot, first, row.name(), row.introduced()) == 0) {
                ++all.count;
            }
        },
        &visit);
    return visit.count;
}

extern "C" int cushim_find_entry_point(cushim_library number, const char *name,
                                       cushim_entry_point *found) noexcept {
    Library *library = library_numbered(number);
    Row row;
    if (!find_row(library, name, row)) {
        return 0;
    }
    *found = describe(*library, row.text);
    return 1;
}

extern "C" cushim_function cushim_exchange_by_name(cushim_library number, const char *name,
                                                   cushim_function function) noexcept {
    Row row;
    return find_row(library_numbered(number), name, row) ? atomics::exchange(row.slot, function)
                                                         : nullptr;
}

extern "C" size_t cushim_left_out(cushim_library number,
                                  const char *const **declarations) noexcept {
    const char *const *list = rows_of(library_numbered(number)).left_out;
    size_t count = 0;
    while (list[count] != nullptr) {
        ++count;
    }
    if (declarations != nullptr) {
        *declarations = list;
    }
    return count;
}
