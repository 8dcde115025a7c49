/* Turns the outcome of a search into words: why a library is absent, and what to do about it. */
#pragma once

#include <cushim/loader.h>

namespace cushim {

struct SearchSummary {
    cushim_library library;
    bool disabled;     // by CUSHIM_DISABLE
    bool chosen;       // by variable or settings: nothing else was tried
    bool beside;       // then: it follows from the path that was chosen for the driver
    bool switched_off; // the settings leave no place to search
    bool environment;  // the settings let variables choose
};

/* Fills in reason, explanation (on the heap) and hint (static) from state, path and candidates. */
void explain(cushim_report &report, const SearchSummary &summary);

/* The explanation when there was no memory for a better one; not on the heap. */
extern const char *const out_of_memory;

} // namespace cushim
