/* Explains the result of a search: why a library is absent, and how to fix it. */
#pragma once

#include "library.h"

typedef struct CushimSearchSummary {
    const Library *library;
    bool disabled;     // by CUSHIM_DISABLE
    bool chosen;       // by variable or settings; nothing else was tried
    bool beside;       // if chosen: the folder follows from the path chosen for the driver
    bool switched_off; // the settings disable every search location
    bool environment;  // the settings permit environment variables
} SearchSummary;

/* Sets reason, explanation (on the heap) and hint from state, path and candidates. Returns the hint
 * if it is on the heap, otherwise NULL. */
char *cushim_explain(cushim_report *report, const SearchSummary *summary);

/* The explanation if memory ran out; static. */
extern const char cushim_out_of_memory[];
