// Every entry point of the headers, callable: what the generated sources offer to the tests.
#pragma once

#include "call.hpp"

#include <cushim/loader.h>

#include <cstddef>

namespace support {

struct Row {
    const char *name; // exported
    int introduced;   // the CUDA version that introduced it; 0: no header tells
    bool is_status;   // it answers a status
    void (*call)(Call &call);
    bool (*resolved)(); // its slot points at something else than its first-call thunk
};

struct Rows {
    cushim_library library;
    const Row *rows;
    std::size_t count;

    const Row *begin() const { return rows; }
    const Row *end() const { return rows + count; }
    const Row &operator[](std::size_t number) const { return rows[number]; }
};

// In the order of rows.json, which is also that of the fake libraries.
extern const Rows driver_rows;
extern const Rows runtime_rows;

} // namespace support
