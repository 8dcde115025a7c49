/* A program that calls CUDA itself, and opens libraries that do: says of each what it is answered, and by
 * which file. usage: host LIBRARY... */
#define _GNU_SOURCE
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef WITH_LIBRARY /* one is linked to it */
extern int library_init(void);
extern const char *library_serves(void);
#endif

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int open_library(const char *path) {
    /* For all that is opened later, too: the worst neighbour there is. */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*init)(void);
    const char *(*serves)(void);
    *(void **)&init = dlsym(library, "library_init");
    *(void **)&serves = dlsym(library, "library_serves");
    printf("%s: %d by %s\n", file_name(path), init(), file_name(serves()));
    return 0;
}

int main(int argc, char **argv) {
    CUresult (*volatile function)(unsigned int) = cuInit;
    Dl_info found;
    int faults = 0;
    for (int i = 1; i < argc; ++i) {
        faults += open_library(argv[i]);
    }
    const char *own = dladdr((void *)function, &found) ? found.dli_fname : "nobody";
    printf("program: %d by %s\n", (int)cuInit(0), file_name(own));
#ifdef WITH_LIBRARY
    printf("linked: %d by %s\n", library_init(), file_name(library_serves()));
#endif
    return faults;
}
