/* A library that uses CUDA's runtime API by itself, without cushim: what a program is that was
 * there before cushim came. Functions return CUDA's status. */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

#include <stddef.h>

#define NEIGHBOUR_FUNCTIONS(X)                                                                     \
    /* Allocates on device 0 and fills it. */                                                      \
    X(int, neighbour_make, (int **memory, const int *values, size_t count))                        \
    X(int, neighbour_write, (int *memory, const int *values, size_t count))                        \
    X(int, neighbour_read, (const int *memory, int *values, size_t count))                         \
    X(int, neighbour_free, (int *memory))                                                          \
    /* Where its cudaMalloc is. */                                                                 \
    X(void *, neighbour_malloc, ())

#endif
