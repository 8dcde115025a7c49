/* A library that is neither the driver nor the runtime. WRONG: without the name that each version
 * has. OTHER_MAJOR: of the next major version. */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#ifdef OTHER_MAJOR
#define MAJOR 5
#else
#define MAJOR 4
#endif

#ifndef WRONG
EXPORT int furtherInit(void) {
    return 0;
}
#endif

EXPORT int furtherAdd(int left, int right, int *sum) {
    *sum = left + right;
    return 7;
}

/* Version 4.12, in all ways to ask for it. */
EXPORT int furtherMajorMinor(int *major, int *minor) {
    *major = MAJOR;
    *minor = 12;
    return 0;
}

EXPORT int furtherProperty(int property, int *value) {
    *value = property == 0 ? MAJOR : 12;
    return property > 1;
}

EXPORT int furtherWritten(int *version) {
    *version = MAJOR * 10000 + 1203;
    return 0;
}

EXPORT size_t furtherReturned(void) {
    return MAJOR * 16 + 12;
}

EXPORT int furtherCuda(int *version) {
    *version = MAJOR * 1000 + 120;
    return 0;
}

EXPORT int furtherFailing(int *version) {
    *version = 77;
    return 1;
}

/* Numbers that are no version. */
EXPORT int furtherMost(int *major, int *minor) {
    *major = *minor = INT_MAX;
    return 0;
}

EXPORT int furtherLeast(int *major, int *minor) {
    *major = *minor = INT_MIN;
    return 0;
}

EXPORT int furtherWrittenLeast(int *version) {
    *version = INT_MIN;
    return 0;
}

EXPORT size_t furtherReturnedMost(void) {
    return SIZE_MAX;
}
