/* Explains the result of a search: why a library is absent, and how to fix it. */
#pragma once

#include <cushim/loader.h>

namespace cushim {

struct SearchSummary {
    cushim_library library;
    bool disabled;     // by CUSHIM_DISABLE
    bool chosen;       // by variable or settings; nothing else was tried
    bool beside;       // if chosen: the folder follows from the path chosen for the driver
    bool switched_off; // the settings disable every search location
    bool environment;  // the settings permit environment variables
};

/* Sets reason, explanation (on the heap) and hint (static) from state, path and candidates. */
void explain(cushim_report &report, const SearchSummary &summary);

/* The explanation if memory ran out; static. */
extern const char *const out_of_memory;

} // namespace cushim
