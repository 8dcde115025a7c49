/* The library greeter, whose functions do nothing. */
#include "greeter.h"

greeter_status greeter_version(int *major, int *minor) {
    *major = GREETER_MAJOR;
    *minor = 1;
    return GREETER_OK;
}

const char *greeter_text(const char *name) {
    return name;
}

greeter_status greeter_wave(int times) {
    return (greeter_status)times;
}
