/* Settings of the loader. They can be replaced until the first search reads them. */
#pragma once

#include "library.h"

/* After this call, cushim_configure returns "too late", as does cushim_choose_library for this
 * library. */
void cushim_freeze_settings(Library *library);

/* The settings in effect. Valid after cushim_freeze_settings(). */
const cushim_settings *cushim_current_settings(void);

/* Whether the settings permit a search in this place (CUSHIM_SEARCH_...). */
bool cushim_looks_in(unsigned int place);

/* An environment variable; NULL if it is unset or empty, or if the settings ignore variables. */
const char *cushim_variable(const char *name);

/* The path that was chosen for a library, by its variable or the settings; NULL: none. */
const char *cushim_chosen_path(const Library *library);

/* Whether, if the driver was chosen by its path, the library is searched for only beside it. */
bool cushim_may_be_beside_driver(const Library *library);
