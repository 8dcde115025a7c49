/* All rows of a table. Only lookups by name link this, so that --gc-sections removes unused rows
 * from other programs. */
#pragma once

#include <cushim/detail/library.h>

#include "first_call.hpp"

namespace cushim {

struct Row {
    cushim_function *slot;
    cushim_function first; // its own thunk
    RowText text;
};

/* The parts of a Row as separate register arguments: the generated code calls this a thousand
 * times. */
using RowVisitor = cushim_row_visitor;

/* Generated: driver_registry.cpp, runtime_registry.cpp. */
void visit_driver_rows(RowVisitor visit, void *user);
void visit_runtime_rows(RowVisitor visit, void *user);
const char *const *driver_left_out(); // terminated by nullptr
const char *const *runtime_left_out();

} // namespace cushim
