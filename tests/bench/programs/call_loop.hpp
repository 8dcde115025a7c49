/* The loop around one call, which call.cpp defines.
 *
 * usage: PROGRAM CALLS CHUNKS. Makes CHUNKS times CALLS calls and prints the nanoseconds per call
 * of the fastest chunk: chunks shorter than a time slice are disturbed least by other programs.
 */
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "now_in_ns.hpp"

static CUresult call(unsigned int flags);

/* For the variants that look cuInit up themselves. */
inline void *open_library() {
    void *library = dlopen(getenv("CUSHIM_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        abort();
    }
    return library;
}

using Function = decltype(&cuInit);

/* Aligned, so that the address of the loop does not affect the comparison. */
[[gnu::noinline, gnu::aligned(64)]] static unsigned int make_calls(long calls) {
    unsigned int sum = 0;
    for (long i = 0; i < calls; ++i) {
        sum += call(0);
    }
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        return 2;
    }
    const long calls = atol(argv[1]), chunks = atol(argv[2]);
    // The first call, which is not measured here.
    if (call(0) != CUDA_SUCCESS) {
        return 3;
    }
    double best = 1e18;
    unsigned int sum = 0;
    for (long chunk = 0; chunk < chunks; ++chunk) {
        const double begin = now_in_ns();
        sum += make_calls(calls);
        const double taken = now_in_ns() - begin;
        best = taken < best ? taken : best;
    }
    printf("%.4f\n", best / calls);
    return sum == 0 ? 0 : 4;
}
