/* How a test controls a generated fake library and reads the calls that reached it.
 *
 * A fake driver or runtime exports every entry point of the headers. Each returns a value that no
 * other entry point of that library returns, and writes no output. There are two exceptions while
 * the fake is not armed, because a loader needs them: cuDriverGetVersion and cudaRuntimeGetVersion
 * write a version and return 0; cuGetProcAddress returns 500 (not found).
 *
 * While the fake is not armed, any number of threads may call it; while it is armed, only one.
 */
#ifndef CUSHIM_TESTS_FAKE_CONTROL_H
#define CUSHIM_TESTS_FAKE_CONTROL_H

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_MAX_ARGUMENTS = 40, FAKE_MAX_BYTES = 1024, FAKE_MAX_RESULT = 64 };

/* A recorded call. */
typedef struct fake_record {
    const char *name; /* exported name of the called function; NULL without a call */
    unsigned int count;
    unsigned int sizes[FAKE_MAX_ARGUMENTS];
    unsigned int size;                   /* bytes used in the next member */
    unsigned char bytes[FAKE_MAX_BYTES]; /* the bytes of all arguments in order */
} fake_record;

/* Rows are numbered in the order of rows.json. */
typedef struct fake_control {
    unsigned int row_count;
    const char *(*name)(unsigned int row);
    /* Calls of a row since the last reset. */
    unsigned int (*calls)(unsigned int row);
    /* Writes the bytes that a call of the row returns; returns their number. */
    unsigned int (*answer)(unsigned int row, unsigned char bytes[FAKE_MAX_RESULT]);
    /* With 1, every later call is recorded, and the exceptions named above do not apply. */
    void (*arm)(int armed);
    /* The last recorded call. */
    const fake_record *(*last)(void);
    /* Clears counts and record, and disarms. */
    void (*reset)(void);
} fake_control;

/* Each fake library exports this as fake_control_get. */
typedef const fake_control *(*fake_control_function)(void);

/* The version that a fake returns, as CUDA packs it, instead of the version of the headers. */
#define FAKE_DRIVER_VERSION_VARIABLE "FAKE_CUDA_VERSION"
#define FAKE_RUNTIME_VERSION_VARIABLE "FAKE_CUDART_VERSION"

#ifdef __cplusplus
}
#endif
#endif
