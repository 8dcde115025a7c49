/* Settings of the loader. They can be replaced until the first search reads them. */
#pragma once

#include <cushim/loader.h>

namespace cushim {

/* After this call, cushim_configure returns "too late". */
void freeze_settings();

/* The settings in effect. Valid after freeze_settings(). */
const cushim_settings &settings();

} // namespace cushim
