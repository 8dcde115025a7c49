/* A program that calls CUDA and opens libraries that do. Prints the status that each gets, and the
 * file whose function it calls. With RUNTIME: the major version of the runtime instead. With
 * WITH_LIBRARY: also for a library that is linked to it. usage: host LIBRARY... */
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef WITH_LIBRARY
extern int library_answer(void);
extern const char *library_serves(void);
#endif

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int open_library(const char *path) {
    /* Global, so that it also serves libraries that are opened later: the worst case. */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*answer)(void);
    const char *(*server)(void);
    *(void **)&answer = dlsym(library, "library_answer");
    *(void **)&server = dlsym(library, "library_serves");
    printf("%s: %d by %s\n", file_name(path), answer(), file_name(server()));
    return 0;
}

int main(int argc, char **argv) {
    int faults = 0;
    for (int i = 1; i < argc; ++i) {
        faults += open_library(argv[i]);
    }
#ifdef RUNTIME
    int version = -1000;
    faults += cudaRuntimeGetVersion(&version) != cudaSuccess;
    printf("program: %d\n", version / 1000);
#else
    CUresult (*volatile function)(unsigned int) = cuInit;
    Dl_info found;
    const char *own = dladdr((void *)function, &found) ? found.dli_fname : "no file";
    printf("program: %d by %s\n", (int)cuInit(0), file_name(own));
#endif
#ifdef WITH_LIBRARY
    printf("linked: %d by %s\n", library_answer(), file_name(library_serves()));
#endif
    return faults;
}
