/* The list of candidates that a search tried, with what happened to each. */
#pragma once

#include <cushim/loader.h>

namespace cushim {

/* Grows on malloc; when memory runs out, what does not fit is left out of the report. */
struct Candidates {
    cushim_candidate *list;
    size_t count, capacity;

    void add(const char *path, cushim_outcome outcome, const char *detail);
    bool has(const char *path) const;
    void free_all();
};

/* Copies a text onto the heap; nullptr when memory runs out. */
char *copy_text(const char *text);

} // namespace cushim
