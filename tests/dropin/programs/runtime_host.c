/* A program that calls the runtime API itself, is linked to a library that does, and opens others:
 * says of each which major version it is told, and by which file. usage: runtime_host LIBRARY... */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include "open_library.h"

extern int library_runtime_major(void);
extern const char *library_runtime_serves(void);

int main(int argc, char **argv) {
    int version = -1000, faults = 0;
    for (int i = 1; i < argc; ++i) {
        faults += open_library(argv[i], "library_runtime_major", "library_runtime_serves");
    }
    faults += cudaRuntimeGetVersion(&version) != cudaSuccess;
    printf("program: %d\n", version / 1000);
    printf("linked: %d by %s\n", library_runtime_major(), file_name(library_runtime_serves()));
    return faults;
}
