/* What only the driver needs, beside its description. */
#pragma once

#include "library.h"

/* Whether an opened library is a driver. version_status: 0, the status that its version function
 * returned, or -1 if it lacks that function. */
cushim_outcome cushim_judge_driver(Module module, int version_status, Text *detail);

/* The function with this exported name, or the one that cuGetProcAddress_v2 returns for it; NULL if
 * the driver has neither. */
cushim_function cushim_find_in_driver(const SearchRecord *driver, const char *name, int introduced);

/* The hint for a person, where the driver's differs from those of other libraries; NULL elsewhere.
 */
const char *cushim_driver_hint(cushim_reason reason, bool chosen);
