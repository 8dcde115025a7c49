/* Driver functions that do more than return a status if the driver is absent.
 *
 * Included by the generated rows; emit_sources.py lists the names. Each receives the status that a
 * failing call would return, followed by its own arguments. The same functions serve a driver that
 * lacks these two, which came with CUDA 6.0.
 */
#pragma once

#include <cuda.h>

#include "error_codes.hpp"

namespace cushim::absent {

/* As in the driver: an unknown code is an invalid value, and its text is null. */
inline CUresult answer(const char *text, const char **out) {
    if (out == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = text;
    return text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

inline CUresult cuGetErrorName(int, CUresult error, const char **name) {
    return answer(driver_code(error).name, name);
}

inline CUresult cuGetErrorString(int, CUresult error, const char **words) {
    return answer(driver_code(error).words, words);
}

} // namespace cushim::absent
