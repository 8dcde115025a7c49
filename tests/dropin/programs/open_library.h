/* For the programs that open libraries which use CUDA. */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Says what the library's function `asked` is answered, and by which file, which `serves` tells. */
static int open_library(const char *path, const char *asked, const char *serves) {
    /* For all that is opened later, too: the worst neighbour there is. */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*answer)(void);
    const char *(*server)(void);
    *(void **)&answer = dlsym(library, asked);
    *(void **)&server = dlsym(library, serves);
    printf("%s: %d by %s\n", file_name(path), answer(), file_name(server()));
    return 0;
}
