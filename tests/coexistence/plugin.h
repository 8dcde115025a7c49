/* A library with a copy of cushim of its own, for programs that have another one, and for Python.
 * What fails says why in the standard error output. Device memory goes by its address. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>

#define PLUGIN_FUNCTIONS(X)                                                                        \
    /* The primary context of device 0; the one that is current in this thread. NULL: none. */     \
    X(void *, plugin_primary, ())                                                                  \
    X(void *, plugin_current, ())                                                                  \
    /* 0 where it did. */                                                                          \
    X(int, plugin_read, (unsigned long long address, int *values, size_t count))                   \
    X(int, plugin_write, (unsigned long long address, const int *values, size_t count))            \
    /* Queued in the stream, which is another library's. */                                        \
    X(int, plugin_fill_in, (void *stream, unsigned long long address, int value, size_t count))    \
    /* 0: failed. Freed by plugin_release. */                                                      \
    X(unsigned long long, plugin_allocate, (size_t count))                                         \
    X(void, plugin_release, ())                                                                    \
    /* Where its own cuInit row lies, and the cudaMalloc that it calls (NULL: no runtime). */      \
    X(void *, plugin_row, ())                                                                      \
    X(void *, plugin_malloc, ())

#endif
