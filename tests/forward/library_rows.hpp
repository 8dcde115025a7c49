// Every entry point of a further library, as the generated sources provide it to the tests.
#pragma once

#include "rows.hpp"

namespace support {

struct LibraryRows {
    const char *name;     // "nvml"
    const char *required; // the function by which the loader recognizes the library
    Rows rows;
    unsigned int pointers; // the first rows that can be called through their pointer
    // For each row, stores the result of a call that cannot be forwarded, except explanations,
    // which are texts; of a missing function or else of an absent library.
    void (*const *unavailable)(Call &call, bool missing);
};

} // namespace support
