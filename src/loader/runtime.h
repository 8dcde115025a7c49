/* What only the runtime needs, beside its description. */
#pragma once

#include "library.h"

/* Whether an opened library is a runtime: as cushim_judge_driver(). */
cushim_outcome cushim_judge_runtime(Module module, int version_status, Text *detail);

/* The function with this exported name; NULL if the runtime lacks it. Forwards the registrations
 * that waited for a runtime. */
cushim_function cushim_find_in_runtime(const SearchRecord *runtime, const char *name);
