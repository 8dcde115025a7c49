/* Settings of the loader. They can be replaced until the first search reads them. */
#pragma once

#include "library.h"

/* After this call, cushim_configure returns "too late", as does cushim_choose_library for this
 * library. */
void cushim_freeze_settings(Library *library);

/* The settings in effect. Valid after cushim_freeze_settings(). */
const cushim_settings *cushim_current_settings(void);

/* The library's path in the settings; NULL: none. */
const char *cushim_path_in_settings(const Library *library);
