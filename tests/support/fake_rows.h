/* The interface between the generated functions of a fake library and its hand-written core. */
#ifndef CUSHIM_TESTS_FAKE_ROWS_H
#define CUSHIM_TESTS_FAKE_ROWS_H

#ifdef _WIN32
#define FAKE_EXPORT extern "C" __declspec(dllexport)
#else
#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
#endif

/* The result of a row. */
enum fake_shape {
    FAKE_STATUS, /* an enumeration or integer: the row's own value */
    FAKE_STRING, /* const char *: the row's own name */
    FAKE_BYTES,  /* a structure: bytes that follow from the row's number */
    FAKE_NOTHING
};

struct fake_row {
    const char *name;
    fake_shape shape;
    unsigned int size; /* of the result */
    int value;         /* FAKE_STATUS: the status that it returns */
};

/* Generated. */
extern const fake_row fake_rows[];
extern unsigned int fake_call_counts[];
extern const unsigned int fake_row_count;
extern const int fake_headers_version;

/* From fake_variant.cpp: what distinguishes the fake libraries of one set of objects. */
extern const int fake_forced_status;   /* if not 0: every status, and no version is written */
extern const int fake_runtime_version; /* if not 0: the runtime's version */

struct fake_argument {
    const void *bytes;
    unsigned int size;
};

/* Counts the call, records it if the fake is armed, and returns the row's status. */
int fake_called(unsigned int row, unsigned int count, const fake_argument *arguments);

/* Writes the bytes of a row that returns a structure. */
void fake_fill(unsigned int row, void *result);

/* The rows that behave normally unless the fake is armed. Return whether they handled this call. */
bool fake_driver_version(unsigned int row, int *version, int *status);
bool fake_runtime_version_reported(unsigned int row, int *version, int *status);
bool fake_name_not_found(unsigned int row, int *status);

#endif
