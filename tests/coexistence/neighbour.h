/* A library that uses the CUDA runtime API without cushim, like existing code. Functions return
 * CUDA's status. */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

#include <stddef.h>

#define NEIGHBOUR_FUNCTIONS(X)                                                                     \
    /* Allocates on device 0 and fills it. */                                                      \
    X(int, neighbour_make, (int **memory, const int *values, size_t count))                        \
    X(int, neighbour_write, (int *memory, const int *values, size_t count))                        \
    X(int, neighbour_read, (const int *memory, int *values, size_t count))                         \
    X(int, neighbour_free, (int *memory))                                                          \
    /* The address of its cudaMalloc. */                                                           \
    X(void *, neighbour_malloc, ())

#endif
