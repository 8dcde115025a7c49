/* A program that calls the loader, and so contains it where it is linked statically. */
#include <cushim/loader.h>

int main(void) {
    return cushim_load(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_NOT_TRIED;
}
