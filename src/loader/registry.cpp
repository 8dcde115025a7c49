/* The functions of loader.h that list entry points or look them up by name. */
#include "registry.hpp"

#include <string.h>

#include "atomics.hpp"
#include "resolve.hpp"

namespace cushim {

namespace {

void visit_rows(cushim_library library, RowVisitor visit, void *user) {
    library == CUSHIM_LIBRARY_DRIVER ? visit_driver_rows(visit, user)
                                     : visit_runtime_rows(visit, user);
}

cushim_entry_point describe(cushim_library library, RowText text) {
    const Resolved found = resolve(library, text.name(), text.introduced());
    return {text.name(), text.introduced(), found.status};
}

struct Visit {
    cushim_library library;
    cushim_visitor visitor;
    void *user;
    size_t count;
};

struct ByName {
    const char *name;
    Row row; // its slot is nullptr until it is found
};

bool find_row(cushim_library library, const char *name, Row &row) {
    ByName wanted = {name, {nullptr, nullptr, {nullptr}}};
    visit_rows(
        library,
        [](void *user, cushim_function *slot, cushim_function first, const char *text) {
            ByName &by_name = *static_cast<ByName *>(user);
            if (strcmp(RowText{text}.name(), by_name.name) == 0)
                by_name.row = {slot, first, {text}};
        },
        &wanted);
    row = wanted.row;
    return row.slot != nullptr;
}

} // namespace

} // namespace cushim

using namespace cushim;

extern "C" size_t cushim_visit_entry_points(cushim_library library, cushim_visitor visitor,
                                            void *user) noexcept {
    Visit visit = {library, visitor, user, 0};
    visit_rows(
        library,
        [](void *argument, cushim_function *, cushim_function, const char *text) {
            Visit &all = *static_cast<Visit *>(argument);
            const cushim_entry_point entry_point = describe(all.library, RowText{text});
            ++all.count;
            if (all.visitor != nullptr)
                all.visitor(&entry_point, all.user);
        },
        &visit);
    return visit.count;
}

extern "C" size_t cushim_resolve_all(cushim_library library) noexcept {
    Visit visit = {library, nullptr, nullptr, 0};
    visit_rows(
        library,
        [](void *argument, cushim_function *slot, cushim_function first, const char *text) {
            Visit &all = *static_cast<Visit *>(argument);
            const RowText row = {text};
            if (resolve_slot(all.library, slot, first, row.name(), row.introduced()) == 0)
                ++all.count;
        },
        &visit);
    return visit.count;
}

extern "C" int cushim_find_entry_point(cushim_library library, const char *name,
                                       cushim_entry_point *found) noexcept {
    Row row;
    if (!find_row(library, name, row))
        return 0;
    *found = describe(library, row.text);
    return 1;
}

extern "C" cushim_function cushim_exchange_by_name(cushim_library library, const char *name,
                                                   cushim_function function) noexcept {
    Row row;
    return find_row(library, name, row) ? atomics::exchange(row.slot, function) : nullptr;
}

extern "C" size_t cushim_left_out(cushim_library library,
                                  const char *const **declarations) noexcept {
    const char *const *list =
        library == CUSHIM_LIBRARY_DRIVER ? driver_left_out() : runtime_left_out();
    size_t count = 0;
    while (list[count] != nullptr)
        ++count;
    if (declarations != nullptr)
        *declarations = list;
    return count;
}
