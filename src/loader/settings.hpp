/* The settings of the loader: replaced until the first search, read by it, refused after it. */
#pragma once

#include <cushim/loader.h>

namespace cushim {

/* From here on cushim_configure answers "too late". */
void freeze_settings();

/* The settings in force. Valid after freeze_settings. */
const cushim_settings &settings();

} // namespace cushim
