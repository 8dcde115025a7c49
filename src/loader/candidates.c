#include "candidates.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

void cushim_add_candidate(Candidates *candidates, const char *path, cushim_outcome outcome,
                          const char *detail) {
    if (candidates->count == candidates->capacity) {
        const size_t more = candidates->capacity == 0 ? 8 : candidates->capacity * 2;
        void *grown = realloc(candidates->list, more * sizeof *candidates->list);
        if (grown == NULL) {
            return;
        }
        candidates->list = (cushim_candidate *)grown;
        candidates->capacity = more;
    }
    char *own_path = cushim_copy_text(path);
    char *own_detail = cushim_copy_text(detail);
    if (own_path == NULL || own_detail == NULL) {
        free(own_path);
        free(own_detail);
        return;
    }
    cushim_candidate *candidate = &candidates->list[candidates->count++];
    candidate->path = own_path;
    candidate->outcome = outcome;
    candidate->detail = own_detail;
}

bool cushim_has_candidate(const Candidates *candidates, const char *path) {
    for (size_t i = 0; i < candidates->count; ++i) {
        if (strcmp(candidates->list[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

void cushim_free_candidates(const cushim_candidate *list, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        free((void *)list[i].path);
        free((void *)list[i].detail);
    }
    free((void *)list);
}
