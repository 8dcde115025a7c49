/* Prints the number of devices of the driver named by CUSHIM_DRIVER, and whether it is the
 * simulator. Needs no CUDA header and links no CUDA library. */
#include <cushim_sim.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*init_function)(unsigned int);
typedef int (*count_function)(int *);

static void *find(void *library, const char *name) {
    void *address = dlsym(library, name);
    if (address == NULL) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return address;
}

int main(void) {
    const char *path = getenv("CUSHIM_DRIVER");
    void *driver = path != NULL ? dlopen(path, RTLD_NOW) : NULL;
    int devices = -1;
    const cushim_sim *simulator = cushim_sim_find();
    if (simulator == NULL || driver == NULL) {
        fprintf(stderr, "no driver: %s\n", path != NULL ? dlerror() : "CUSHIM_DRIVER is not set");
        return 1;
    }
    init_function init;
    *(void **)&init = find(driver, "cuInit");
    count_function count;
    *(void **)&count = find(driver, "cuDeviceGetCount");
    if (init(0) != 0 || count(&devices) != 0) {
        return 1;
    }
    printf("interface %d, devices %d\n", simulator->interface_version, devices);
    return 0;
}
