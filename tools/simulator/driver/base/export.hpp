// Marks what the libraries export.
#pragma once

// On Windows, the list of symbols alone determines the exports.
#ifdef _WIN32
#define SIM_EXPORT
#else
#define SIM_EXPORT __attribute__((visibility("default")))
#endif
