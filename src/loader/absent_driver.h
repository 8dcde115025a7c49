/* Driver functions that do more than return a status if the driver is absent.
 *
 * Included by the generated rows; emit_sources.py lists the names. Each receives the status that a
 * failing call would return, followed by its own arguments. The same functions serve a driver that
 * lacks these two, which came with CUDA 6.0.
 */
#pragma once

#include <stddef.h>

#include <cuda.h>

#include "error_codes.h"

/* As in the driver: an unknown code is an invalid value, and its text is NULL. */
static inline CUresult cushim_return_text(const char *text, const char **out) {
    if (out == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = text;
    return text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult cushim_absent_cuGetErrorName(int status, CUresult error, const char **name) {
    (void)status;
    return cushim_return_text(cushim_driver_code((int)error).name, name);
}

static inline CUresult cushim_absent_cuGetErrorString(int status, CUresult error,
                                                      const char **words) {
    (void)status;
    return cushim_return_text(cushim_driver_code((int)error).words, words);
}
