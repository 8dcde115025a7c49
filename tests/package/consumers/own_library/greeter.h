/* A small C library, which a program uses without linking it. */
#ifndef GREETER_H
#define GREETER_H
#ifdef __cplusplus
extern "C" {
#endif

#define GREETER_MAJOR 2

typedef enum { GREETER_OK = 0, GREETER_MISSING = 1, GREETER_OLD = 2 } greeter_status;

greeter_status greeter_version(int *major, int *minor);
const char *greeter_text(const char *name);
/* New in version 2.1. */
greeter_status greeter_wave(int times);

#ifdef __cplusplus
}
#endif
#endif
