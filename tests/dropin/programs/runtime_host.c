/* A program that calls the runtime API itself, is linked to a library that does, and opens others: says of
 * each which major version it is told, and by which file. usage: runtime_host LIBRARY... */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern int library_runtime_major(void);
extern const char *library_runtime_serves(void);

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*major)(void);
    const char *(*serves)(void);
    *(void **)&major = dlsym(library, "library_runtime_major");
    *(void **)&serves = dlsym(library, "library_runtime_serves");
    printf("%s: %d by %s\n", file_name(path), major(), file_name(serves()));
    return 0;
}

int main(int argc, char **argv) {
    int version = -1000, faults = 0;
    for (int i = 1; i < argc; ++i) {
        faults += open_library(argv[i]);
    }
    faults += cudaRuntimeGetVersion(&version) != cudaSuccess;
    printf("program: %d\n", version / 1000);
    printf("linked: %d by %s\n", library_runtime_major(), file_name(library_runtime_serves()));
    return faults;
}
