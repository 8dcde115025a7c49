/* What the generated functions of a fake library and its hand-written core know of each other. */
#ifndef CUSHIM_TESTS_FAKE_ROWS_H
#define CUSHIM_TESTS_FAKE_ROWS_H

#ifdef _WIN32
#define FAKE_EXPORT extern "C" __declspec(dllexport)
#else
#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
#endif

/* What a row gives its caller. */
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
    int value;         /* FAKE_STATUS: what it answers */
};

/* Generated. */
extern const fake_row fake_rows[];
extern unsigned int fake_call_counts[];
extern const unsigned int fake_row_count;
extern const int fake_headers_version;

/* From fake_variant.cpp: what distinguishes the fake libraries of one set of objects. */
extern const int fake_forced_status;   /* not 0: every status is this, and no version is told */
extern const int fake_runtime_version; /* not 0: what the runtime tells as its version */

struct fake_argument {
    const void *bytes;
    unsigned int size;
};

/* Counts the call, records it if the fake is armed, and gives the row's status. */
int fake_called(unsigned int row, unsigned int count, const fake_argument *arguments);

/* Writes the bytes of a row that answers a structure. */
void fake_fill(unsigned int row, void *result);

/* The rows that must behave unless the fake is armed: whether this call was answered here. */
bool fake_driver_version(unsigned int row, int *version, int *status);
bool fake_runtime_version_told(unsigned int row, int *version, int *status);
bool fake_name_not_found(unsigned int row, int *status);

#endif
