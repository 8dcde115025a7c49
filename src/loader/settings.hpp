/* Settings of the loader. They can be replaced until the first search reads them. */
#pragma once

#include "library.hpp"

namespace cushim {

/* After this call, cushim_configure returns "too late", as does cushim_choose_library for this
 * library. */
void freeze_settings(Library &library);

/* The settings in effect. Valid after freeze_settings(). */
const cushim_settings &settings();

/* The library's path in the settings; nullptr: none. */
const char *path_in_settings(const Library &library);

} // namespace cushim
