/* A library with its own copy of cushim, for programs that have another one, and for Python.
 * Failures are described on standard error. Device memory is passed by address. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>

#define PLUGIN_FUNCTIONS(X)                                                                        \
    /* The primary context of device 0; the context current in this thread. NULL on failure. */    \
    X(void *, plugin_primary, ())                                                                  \
    X(void *, plugin_current, ())                                                                  \
    /* Return 0 on success. */                                                                     \
    X(int, plugin_read, (unsigned long long address, int *values, size_t count))                   \
    X(int, plugin_write, (unsigned long long address, const int *values, size_t count))            \
    /* Enqueued in the stream, which belongs to another library. */                                \
    X(int, plugin_fill_in, (void *stream, unsigned long long address, int value, size_t count))    \
    /* Returns 0 on failure. plugin_release frees the memory. */                                   \
    X(unsigned long long, plugin_allocate, (size_t count))                                         \
    X(void, plugin_release, ())                                                                    \
    /* Ends the capture of a stream. Its Graph is destroyed before this returns the handle, which  \
     * is NULL on failure. */                                                                      \
    X(void *, plugin_end_capture, (void *stream))                                                  \
    /* Ends the capture of a stream into a graph that it borrows. Returns 0 on success. */         \
    X(int, plugin_end_capture_to, (void *stream, void *graph))                                     \
    /* The addresses of its cuInit row and of its cudaMalloc (NULL without a runtime). */          \
    X(void *, plugin_row, ())                                                                      \
    X(void *, plugin_malloc, ())

#endif
