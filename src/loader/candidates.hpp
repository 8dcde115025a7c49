/* The list of candidates that a search tried, with the result of each. */
#pragma once

#include <cushim/loader.h>

namespace cushim {

/* Grows with malloc; if memory runs out, the report lacks the remaining candidates. */
struct Candidates {
    cushim_candidate *list;
    size_t count, capacity;

    void add(const char *path, cushim_outcome outcome, const char *detail);
    bool has(const char *path) const;
    void free_all();
};

/* Copies a text to the heap; nullptr if out of memory. */
char *copy_text(const char *text);

} // namespace cushim
