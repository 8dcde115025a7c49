/* Calls while there is no library.
 *
 * usage: PROGRAM FUNCTION CALLS CHUNKS. Prints the nanoseconds per call of the fastest chunk.
 * Returns 1 if a call answers anything else than that there is no library.
 */
#include <cushim/driver_table.hpp>
#include <cushim/runtime_table.hpp>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int call_driver() {
    return cushim::driver().cuInit(0);
}

static int call_driver_with_arguments() {
    CUdeviceptr memory = 0;
    return cushim::driver().cuMemAlloc(&memory, 4096);
}

static int call_runtime() {
    return cushim::runtime().cudaDeviceSynchronize();
}

static int call_runtime_with_answer() {
    int count = 1;
    const int status = cushim::runtime().cudaGetDeviceCount(&count);
    return count == 0 ? status : -1;
}

static double now_in_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* The function that is called is known to the compiler, as it is in a user's program. */
template <int (*function)()>
static double fastest(int answer, long calls, long chunks) {
    double best = 1e18;
    for (long chunk = 0; chunk < chunks; ++chunk) {
        const double begin = now_in_ns();
        for (long i = 0; i < calls; ++i)
            if (function() != answer)
                exit(1);
        const double taken = now_in_ns() - begin;
        best = taken < best ? taken : best;
    }
    return best / calls;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    const long calls = atol(argv[2]), chunks = atol(argv[3]);
    const auto is = [&](const char *name) { return strcmp(argv[1], name) == 0; };
    const int no_driver = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
    const int no_runtime = cudaErrorInsufficientDriver;
    double best = 0;
    if (is("cuInit"))
        best = fastest<call_driver>(no_driver, calls, chunks);
    else if (is("cuMemAlloc"))
        best = fastest<call_driver_with_arguments>(no_driver, calls, chunks);
    else if (is("cudaDeviceSynchronize"))
        best = fastest<call_runtime>(no_runtime, calls, chunks);
    else if (is("cudaGetDeviceCount"))
        best = fastest<call_runtime_with_answer>(no_runtime, calls, chunks);
    else
        return 2;
    printf("%.4f\n", best);
    return 0;
}
