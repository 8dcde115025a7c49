/* The list of candidates that a search tried, with the result of each. */
#pragma once

#include <stdbool.h>

#include <cushim/loader.h>

/* Grows with malloc; if memory runs out, the report lacks the remaining candidates. */
typedef struct CushimCandidates {
    cushim_candidate *list;
    size_t count, capacity;
} Candidates;

void cushim_add_candidate(Candidates *candidates, const char *path, cushim_outcome outcome,
                          const char *detail);
bool cushim_has_candidate(const Candidates *candidates, const char *path);
void cushim_free_candidates(const cushim_candidate *list, size_t count);
