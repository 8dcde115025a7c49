// Marks the functions that the library exports beside CUDA's own.
#pragma once

#ifdef _WIN32
#define SIM_EXPORT __declspec(dllexport)
#else
#define SIM_EXPORT __attribute__((visibility("default")))
#endif
