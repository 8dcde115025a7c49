/* A search in progress: tries candidates, checks them, and records each result. */
#pragma once

#include "library.h"

typedef struct {
    cushim_candidate *list;
    size_t count, capacity;
} Candidates;

typedef struct {
    const Library *library;
    const SearchRecord *driver; // the driver's record; NULL if it was not tried
    Candidates candidates;
    Module module; // the library that was found
    int version;
    bool chosen;        // a path was chosen; nothing else is tried
    bool beside;        // the folder follows from the path chosen for the driver
    bool out_of_memory; // the result is incomplete
    FileKind problem;   // of the first candidate that exists but cannot be used
} Search;

/* A text that was copied to the heap for the search; notes if it is NULL because memory ran out. */
char *cushim_noted(Search *search, char *text);

/* A file or folder inside a folder, on the heap; NULL if out of memory or without a folder. */
char *cushim_path_in(Search *search, const char *folder, const char *name);

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

void cushim_free_candidates(const cushim_candidate *list, size_t count);
