// What the libraries export.
#pragma once

// Begins the definition of an entry point, for ../../exports/generate_exports.py, which exports it.
#define EXPORT
// Behind EXPORT: the entry point may be called before cuInit, during exit and in a child of fork;
// one of the runtime works without a driver.
#define ANY_TIME
// Marks a parameter of an entry point that points to one value, which the call only writes. If the
// call fails, its export overwrites that value: see poison.hpp. Not for lists, for values that are
// also read, and for outputs that describe the failure or that a driver leaves unchanged.
#ifndef OUT // Windows headers have the same macro
#define OUT
#endif

// On the exported functions themselves. On Windows, the list of symbols alone determines the
// exports.
#ifdef _WIN32
#define SIM_EXPORT
#else
#define SIM_EXPORT __attribute__((visibility("default")))
#endif
