/* A search in progress: tries candidates, checks them, and records each result. */
#pragma once

#include "candidates.h"
#include "library.h"

typedef struct CushimSearch {
    const Library *library;
    Candidates candidates;
    Module module; // the library that was found
    int version;
    bool chosen; // a path was chosen; nothing else is tried
    bool beside; // the folder follows from the path chosen for the driver
} Search;

/* Each returns whether the library was found; search->module is then set. */

/* Tries a path. The file is checked first, since loading a damaged one could crash the process. */
bool cushim_try_path(Search *search, const char *path);

/* The same for a file in a folder. */
bool cushim_try_path_in(Search *search, const char *folder, const char *name);

/* The same for a file that may not exist: most of these folders are missing on any one machine. */
bool cushim_try_path_if_there(Search *search, const char *folder, const char *name);

/* Tries a copy that the process has already loaded. */
bool cushim_try_already_loaded(Search *search, const char *name);

/* Tries the file name in the system's default search. That stops at its first match, which may be a
 * link stub with a driver after it; in this case the search continues in the folders. */
bool cushim_try_default_search(Search *search, const char *name);

/* Tries the chosen path. A bare file name is looked up by the system's search. */
bool cushim_try_chosen(Search *search, const char *path);
