/* Version 2.0 of the library. */
#include "greeter.h"

greeter_status greeter_version(int *major, int *minor) {
    *major = GREETER_VERSION;
    *minor = 0;
    return GREETER_OK;
}

const char *greeter_text(const char *name) {
    return name[0] != '\0' ? "hello" : "who is there?";
}
