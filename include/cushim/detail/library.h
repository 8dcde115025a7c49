/* What the generated code of a further library (NVML, NVRTC, ...) and the loader share: how the
 * library is found, and the first call of its functions. Usable from C11 and C++11.
 *
 * Programs do not include this header; they use <cushim/NAME_table.hpp> and loader.h.
 */
#ifndef CUSHIM_DETAIL_LIBRARY_H
#define CUSHIM_DETAIL_LIBRARY_H

#include <cushim/loader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a library may be, besides a chosen path, a copy that the process has already loaded, and
 * the system's search. */
enum {
    CUSHIM_PLACE_BESIDE_DRIVER = 1, /* if the driver was chosen by its path: beside it, and nowhere
                                       else. For libraries that the driver brings: a driver for
                                       tests must not be combined with the machine's own library */
    CUSHIM_PLACE_DRIVER = 2,        /* the folder of the loaded driver, the known driver folders */
    CUSHIM_PLACE_TOOLKIT = 4,       /* CUDA_PATH, CUDA_HOME, the installed toolkits */
    CUSHIM_PLACE_PACKAGES = 8,      /* CONDA_PREFIX, and the active Python environment */
    CUSHIM_PLACE_PROGRAM = 16       /* the folder of the program */
};

/* How a library is asked for its version. A status is an int; 0 is success. If the function is
 * missing or fails, the version is unknown, and the library is accepted. */
enum {
    CUSHIM_VERSION_NONE = 0,        /* it is not asked */
    CUSHIM_VERSION_MAJOR_MINOR = 1, /* status f(int *major, int *minor): nvrtcVersion */
    CUSHIM_VERSION_WRITTEN = 2,     /* status f(int *version): ncclGetVersion */
    CUSHIM_VERSION_RETURNED = 3,    /* size_t f(void): cudnnGetVersion */
    CUSHIM_VERSION_PROPERTY = 4     /* status f(int property, int *value), where property 0 is the
                                       major and 1 the minor version: cublasGetProperty */
};

/* How a library is found and checked. Constant and generated; lives until the process ends. */
typedef struct cushim_library_description {
    unsigned int size;                  /* of this struct, for loaders of other versions */
    const char *name;                   /* "nvml": in reports */
    const char *title;                  /* "NVML": in sentences */
    const char *variable;               /* "CUSHIM_NVML": names the library's path */
    const char *const *file_names;      /* of the target system, by preference; ends with NULL:
                                           "libnvidia-ml.so.1" */
    const char *const *package_folders; /* in site-packages; ends with NULL: "nvidia/cu13/lib".
                                           NULL: none */
    unsigned int places;                /* CUSHIM_PLACE_... ored together */
    const char *required;               /* an exported name that each version has: "nvmlInit_v2" */
    const char *version_function;       /* NULL with CUSHIM_VERSION_NONE */
    int version_kind;                   /* CUSHIM_VERSION_... */
    int version_major_unit;             /* for WRITTEN and RETURNED: the major version is version /
                                           major_unit, the minor version % major_unit / minor_unit:
                                           10000 and 100 for NCCL and cuDNN, 16 and 1 for NVENC.
                                           Both 0: as CUDA packs its own (1000 and 10) */
    int version_minor_unit;
    int major;        /* major version of the headers; -1: any version is accepted */
    const char *hint; /* what a person can do if it is not found: "install the NVIDIA driver".
                         NULL: the loader's own words */
} cushim_library_description;

/* Called for each row of a library. row: two bytes of the CUDA version that introduced it, high
 * byte first (0: unknown), and then its exported name. */
typedef void (*cushim_row_visitor)(void *user, cushim_function *slot, cushim_function first,
                                   const char *row);

/* All entry points of a library. Constant and generated. */
typedef struct cushim_library_rows {
    void (*visit)(cushim_row_visitor visit, void *user); /* in the order of the headers */
    const char *const *left_out; /* declarations that were not understood; ends with NULL */
} cushim_library_rows;

/* A library in a program. Generated code defines one with the description and zeros; it lives until
 * the process ends. Programs and plugins that share a loader may each have one: those with the same
 * name, major version and preferred file name are one library. */
typedef struct cushim_loadable {
    const cushim_library_description *description;
    /* The loader's own: */
    const cushim_library_rows *rows;
    struct CushimSearchRecord *record;
    const char *chosen;
    struct cushim_loadable *next;
    struct cushim_loadable *listed;
    int number;
} cushim_loadable;

/* The results of a first call, and the status of an entry point (cushim_entry_point). */
enum {
    CUSHIM_CALL_READY = 0,  /* the slot holds the function */
    CUSHIM_CALL_ABSENT = 1, /* the library is absent */
    CUSHIM_CALL_MISSING = 2 /* the library lacks the function */
};

/* For first-call functions: loads the library, and stores the function in the slot if it still
 * holds `first`. row: see cushim_row_visitor. */
CUSHIM_CORE_API int cushim_first_call_library(cushim_loadable *library, cushim_function *slot,
                                              cushim_function first,
                                              const char *row) CUSHIM_NOEXCEPT;

/* The number of a library, for the functions of loader.h. Loads nothing. */
CUSHIM_CORE_API cushim_library cushim_library_of(cushim_loadable *library) CUSHIM_NOEXCEPT;

/* The same. After this call, the functions of loader.h that list entry points or look them up by
 * name work for the library, with these rows. */
CUSHIM_CORE_API cushim_library
cushim_library_with_rows(cushim_loadable *library, const cushim_library_rows *rows) CUSHIM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
