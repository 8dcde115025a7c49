/* Searches for a library: see search.c. */
#pragma once

#include "library.h"

/* The result of a search, which the caller owns. NULL if memory ran out at any point: a record
 * without some of its candidates or paths would be permanent. `driver`: the driver's record, NULL
 * if it was not tried. */
SearchRecord *cushim_search(const Library *library, const SearchRecord *driver);

/* Frees a record that was not published. */
void cushim_discard(SearchRecord *record);

/* Whether two searches had the same result, with all candidates and texts. */
bool cushim_is_same_result(const SearchRecord *left, const SearchRecord *right);
