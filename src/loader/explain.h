/* Explains the result of a search: why a library is absent, and how to fix it. */
#pragma once

#include "library.h"

typedef struct {
    const Library *library;
    bool disabled;     // by CUSHIM_DISABLE
    bool chosen;       // by variable or settings; nothing else was tried
    bool beside;       // if chosen: the folder follows from the path chosen for the driver
    bool switched_off; // the settings disable every search location
    bool environment;  // the settings permit environment variables
    FileKind problem;  // of the first candidate that exists but cannot be used
} SearchSummary;

/* Sets reason, explanation and hint from state, path and candidates. The texts are on the heap;
 * NULL if memory ran out. */
void cushim_explain(cushim_report *report, const SearchSummary *summary);
