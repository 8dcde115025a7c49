// Every entry point of the headers, as the generated sources provide it to the tests.
#pragma once

#include "call.hpp"

#include <cushim/loader.h>

#include <cstddef>

namespace support {

struct Row {
    const char *name; // exported
    int introduced;   // the CUDA version that introduced it; 0 if no header states it
    bool is_status;   // it returns a status
    void (*call)(Call &call);
    bool (*resolved)(); // its slot no longer points to its first-call function
};

struct Rows {
    cushim_library library;
    const Row *rows;
    std::size_t count;

    const Row *begin() const { return rows; }
    const Row *end() const { return rows + count; }
    const Row &operator[](std::size_t number) const { return rows[number]; }
};

// In the order of rows.json, which is also the order of the fake libraries.
extern const Rows driver_rows;
extern const Rows runtime_rows;

} // namespace support
