/* A driver that exports few functions and provides the others only by cuGetProcAddress_v2, the
 * loader's fallback. Records the requests. */
#include <string.h>

#include "fake_driver_12_2.h"

struct asked {
    char name[128];
    int version;
    unsigned long long flags;
    int times;
};
static struct asked last;
EXPORT struct asked *proc_address_asked(void) {
    return &last;
}

static int CALL answers_77(void *a, size_t b) {
    (void)a;
    (void)b;
    return 77;
}

EXPORT int CALL cuGetProcAddress_v2(const char *name, void **function, int version,
                                    unsigned long long flags, int *found) {
    strncpy(last.name, name, sizeof last.name - 1);
    last.version = version;
    last.flags = flags;
    ++last.times;
    if (strcmp(name, "cuMemFree") == 0) { /* the name is known in another version */
        *function = 0;
        *found = 2;
        return 0;
    }
    if (strcmp(name, "cuMemcpyDtoD") == 0) {
        return 500;
    }
    *(int(CALL **)(void *, size_t))function = answers_77;
    *found = 0;
    return 0;
}
