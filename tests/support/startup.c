/* A C program that does nothing. WITH_LOADER refers to the loader without calling it. */
#include <stdio.h>

#ifdef WITH_LOADER
#include <cushim/loader.h>
#endif

int main(int argc, char **argv) {
    if (argc < 100) {
        return 0;
    }
#ifdef WITH_LOADER
    if (cushim_load(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED) {
        return 1;
    }
#endif
    return puts(argv[0]);
}
