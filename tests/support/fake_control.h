/* How a test talks to a generated fake library: what it was called with, and what it answers.
 *
 * A fake driver or runtime exports every entry point of the headers. Each answers something that no
 * other entry point of that library answers, and writes no output. Two exceptions as long as the
 * fake is not armed, because a loader needs them to behave: cuDriverGetVersion and
 * cudaRuntimeGetVersion write a version and answer 0; cuGetProcAddress answers 500 (not found).
 *
 * Calls may come from any number of threads while the fake is not armed; while it is, from one.
 */
#ifndef CUSHIM_TESTS_FAKE_CONTROL_H
#define CUSHIM_TESTS_FAKE_CONTROL_H

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_MAX_ARGUMENTS = 32, FAKE_MAX_BYTES = 1024, FAKE_MAX_RESULT = 64 };

/* One call as it arrived. */
typedef struct fake_record {
    const char *name; /* exported name of the function that was reached; NULL: none */
    unsigned int count;
    unsigned int sizes[FAKE_MAX_ARGUMENTS];
    unsigned int size;                   /* bytes used of the next */
    unsigned char bytes[FAKE_MAX_BYTES]; /* the arguments' own bytes, one after the other */
} fake_record;

/* Rows are numbered in the order of rows.json. */
typedef struct fake_control {
    unsigned int row_count;
    const char *(*name)(unsigned int row);
    /* Calls of a row since the last reset. */
    unsigned int (*calls)(unsigned int row);
    /* Writes the bytes that a call of the row gives its caller, and returns how many. */
    unsigned int (*answer)(unsigned int row, unsigned char bytes[FAKE_MAX_RESULT]);
    /* With 1, from now on every call is recorded, and the exceptions named above end. */
    void (*arm)(int armed);
    /* The last call that was recorded. */
    const fake_record *(*last)(void);
    /* Forgets calls and record, and disarms. */
    void (*reset)(void);
} fake_control;

/* Each fake library exports this as fake_control_get. */
typedef const fake_control *(*fake_control_function)(void);

/* The version that a fake tells, packed as CUDA packs it, in place of that of the headers. */
#define FAKE_DRIVER_VERSION_VARIABLE "FAKE_CUDA_VERSION"
#define FAKE_RUNTIME_VERSION_VARIABLE "FAKE_CUDART_VERSION"

#ifdef __cplusplus
}
#endif
#endif
