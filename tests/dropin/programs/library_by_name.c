/* A shared library that looks CUDA up by name, in whatever the process has, and knows nothing of
 * cushim. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef int Init(unsigned int flags);

static Init *found(void) {
    Init *function = NULL;
    *(void **)&function = dlsym(RTLD_DEFAULT, "cuInit");
    return function;
}

int library_init(void) {
    Init *function = found();
    return function != NULL ? function(0) : -1;
}

/* The file whose cuInit it calls. */
const char *library_serves(void) {
    void *function = dlsym(RTLD_DEFAULT, "cuInit");
    Dl_info where;
    return function != NULL && dladdr(function, &where) ? where.dli_fname : "nobody";
}
