/* All rows of a table. Only lookups by name link this, so that --gc-sections removes unused rows
 * from other programs. */
#pragma once

#include <cushim/detail/library.h>

/* Generated: driver_registry.c, runtime_registry.c. */
void cushim_visit_driver_rows(cushim_row_visitor visit, void *user);
void cushim_visit_runtime_rows(cushim_row_visitor visit, void *user);
extern const char *const cushim_driver_left_out[]; // terminated by NULL
extern const char *const cushim_runtime_left_out[];
