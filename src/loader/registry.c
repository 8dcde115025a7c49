/* The functions of loader.h that list entry points or look them up by name. */
#include "registry.h"

#include <string.h>

#include "first_call.h"

static void visit_nothing(cushim_row_visitor visit, void *user) {
    (void)visit, (void)user;
}

static const char *const none_left_out[] = {NULL};
static const cushim_library_rows no_rows = {visit_nothing, none_left_out};
static const cushim_library_rows driver_rows = {cushim_visit_driver_rows, cushim_driver_left_out};
static const cushim_library_rows runtime_rows = {cushim_visit_runtime_rows,
                                                 cushim_runtime_left_out};

/* No rows for a library whose rows are not linked. */
static const cushim_library_rows *rows_of(const Library *library) {
    if (library == NULL) {
        return &no_rows;
    }
    switch (cushim_kind_of(library)) {
    case KIND_DRIVER:
        return &driver_rows;
    case KIND_RUNTIME:
        return &runtime_rows;
    case KIND_FURTHER:
        break;
    }
    const cushim_library_rows *rows = CUSHIM_LOAD(&library->rows);
    return rows != NULL ? rows : &no_rows;
}

static void describe(Library *library, const char *row, cushim_entry_point *entry_point) {
    entry_point->name = cushim_row_name(row);
    entry_point->introduced = cushim_row_introduced(row);
    cushim_find(library, entry_point->name, entry_point->introduced, &entry_point->status);
}

/* A slot is NULL until its row is found. */
typedef struct {
    const char *name;
    cushim_function *slot;
    const char *row;
} RowByName;

static void compare_row(void *user, cushim_function *slot, cushim_function first, const char *row) {
    RowByName *wanted = user;
    (void)first;
    if (strcmp(cushim_row_name(row), wanted->name) == 0) {
        wanted->slot = slot;
        wanted->row = row;
    }
}

static RowByName find_row(const Library *library, const char *name) {
    RowByName wanted = {.name = name};
    rows_of(library)->visit(compare_row, &wanted);
    return wanted;
}

typedef struct {
    Library *library; // not NULL where a row is visited
    cushim_visitor visitor;
    void *user;
    size_t count;
} Visit;

static void report_row(void *user, cushim_function *slot, cushim_function first, const char *row) {
    Visit *visit = user;
    cushim_entry_point entry_point;
    (void)slot, (void)first;
    describe(visit->library, row, &entry_point);
    ++visit->count;
    if (visit->visitor != NULL) {
        visit->visitor(&entry_point, visit->user);
    }
}

static void resolve_row(void *user, cushim_function *slot, cushim_function first, const char *row) {
    Visit *visit = user;
    if (cushim_resolve_slot(visit->library, slot, first, cushim_row_name(row),
                            cushim_row_introduced(row)) == 0) {
        ++visit->count;
    }
}

static size_t visit_rows(cushim_library number, cushim_row_visitor visit_row,
                         cushim_visitor visitor, void *user) {
    Visit visit = {
        .library = cushim_library_numbered(number),
        .visitor = visitor,
        .user = user,
    };
    rows_of(visit.library)->visit(visit_row, &visit);
    return visit.count;
}

size_t cushim_visit_entry_points(cushim_library number, cushim_visitor visitor, void *user) {
    return visit_rows(number, report_row, visitor, user);
}

size_t cushim_resolve_all(cushim_library number) {
    return visit_rows(number, resolve_row, NULL, NULL);
}

int cushim_find_entry_point(cushim_library number, const char *name, cushim_entry_point *found) {
    Library *library = cushim_library_numbered(number);
    const RowByName row = find_row(library, name);
    if (row.slot == NULL) {
        return 0;
    }
    describe(library, row.row, found);
    return 1;
}

cushim_function cushim_exchange_by_name(cushim_library number, const char *name,
                                        cushim_function function) {
    const RowByName row = find_row(cushim_library_numbered(number), name);
    return row.slot != NULL ? (cushim_function)CUSHIM_EXCHANGE(row.slot, function) : NULL;
}

size_t cushim_left_out(cushim_library number, const char *const **declarations) {
    const char *const *list = rows_of(cushim_library_numbered(number))->left_out;
    size_t count = 0;
    while (list[count] != NULL) {
        ++count;
    }
    if (declarations != NULL) {
        *declarations = list;
    }
    return count;
}
