/* Loading the CUDA libraries, for C programs: load them, report what was found and why, configure
 * the search. C++ programs use loader.hpp, the same in C++ terms. All functions work for every
 * library that cushim was built with: the driver, the runtime, and further ones such as NVML.
 *
 * Usable from C11 and C++11; needs no CUDA header. Part of the library cushim-core, which needs no
 * C++ runtime.
 *
 * Nothing here has to be called: the first call of any table function loads what it needs. No
 * function prints, aborts, calls cuInit, or unloads a library in use.
 *
 * Lifetime: every returned pointer stays valid until the process ends.
 * Threads: any, at any time, also in static constructors, in exit handlers, and in the child of a
 * fork. If another thread is loading a library during the fork, the child may use that library
 * although its constructors have not run: the C library already lists it.
 */
#ifndef CUSHIM_LOADER_H
#define CUSHIM_LOADER_H

#include <stddef.h>

#include <cushim/detail/config.h>

/* The version of cushim, 0.1.0, as major * 10000 + minor * 100 + patch. */
#define CUSHIM_VERSION 100

#ifdef __cplusplus
extern "C" {
#endif

/* The libraries that cushim loads. */
typedef enum cushim_library {
    CUSHIM_LIBRARY_DRIVER = 0,       /* libcuda.so.1, nvcuda.dll: cu* */
    CUSHIM_LIBRARY_RUNTIME = 1,      /* libcudart.so.<major>, cudart64_<major>.dll: cuda* */
    CUSHIM_LIBRARY_MOST = 0x7fffffff /* further libraries (NVML, NVRTC, ...) have numbers up to this
                                        one, which differ between processes: cushim_nvml_library()
                                        returns that of NVML */
} cushim_library;

/* Whether a library is loaded. */
typedef enum cushim_state {
    CUSHIM_STATE_NOT_TRIED = 0, /* no call has needed it yet */
    CUSHIM_STATE_LOADED = 1,    /* its functions can be called. In a report also a libcudart that is
                                   not used for lack of a driver, for which cushim_load() returns
                                   CUSHIM_STATE_ABSENT */
    CUSHIM_STATE_ABSENT = 2     /* not found or not usable; only a reload searches again */
} cushim_state;

/* The result for one candidate of the search. */
typedef enum cushim_outcome {
    CUSHIM_OUTCOME_LOADED = 0,             /* this is the library in use */
    CUSHIM_OUTCOME_NOT_FOUND = 1,          /* no such file */
    CUSHIM_OUTCOME_NOT_A_LIBRARY = 2,      /* a folder, an empty file, a text file, ... */
    CUSHIM_OUTCOME_TRUNCATED = 3,          /* the end of the file is missing */
    CUSHIM_OUTCOME_WRONG_ARCHITECTURE = 4, /* a library for another processor or word size */
    CUSHIM_OUTCOME_LINK_STUB = 5,          /* the toolkit's link stub, which is not a driver */
    CUSHIM_OUTCOME_NOT_CUDA = 6,      /* a library, but without cuInit (cudaRuntimeGetVersion; for
                                         further libraries the name in their description) */
    CUSHIM_OUTCOME_WRONG_VERSION = 7, /* not the major version of the headers */
    CUSHIM_OUTCOME_REFUSED = 8        /* the system did not load it: detail has its message */
} cushim_outcome;

/* One file or file name that the search tried. */
typedef struct cushim_candidate {
    /* As passed to the system; a bare file name means its default search. If the system found a
     * file and refused it, the path of that file. */
    const char *path;
    cushim_outcome outcome; /* what the search found there */
    const char *detail;     /* a phrase for a person; the system's message if there is one */
} cushim_candidate;

/* Why a library is absent. */
typedef enum cushim_reason {
    CUSHIM_REASON_NONE = 0,        /* it is loaded, or was not tried */
    CUSHIM_REASON_DISABLED = 1,    /* CUSHIM_DISABLE is set, and neither 0 nor empty */
    CUSHIM_REASON_NOT_FOUND = 2,   /* no candidate exists */
    CUSHIM_REASON_LINK_STUB = 3,   /* only the toolkit's link stub was found */
    CUSHIM_REASON_UNUSABLE = 4,    /* candidates exist, but none can be used */
    CUSHIM_REASON_CHOSEN_PATH = 5, /* the path chosen by variable or setting cannot be used */
    CUSHIM_REASON_SWITCHED_OFF = 6 /* the settings leave no place to search */
} cushim_reason;

/* The result of the search for one library. */
typedef struct cushim_report {
    cushim_state state;   /* of the file: a loaded libcudart is not used without a driver */
    cushim_reason reason; /* why it is absent */
    const char *path; /* of the library in use, absolute if the system reports it; NULL if absent */
    int version;      /* CUDA version of the library in use, packed: 12060 is 12.6; 0: unknown. For
                         further libraries their own version, packed in the same way */
    const char *explanation; /* one sentence for a person: the library found, or why it is absent */
    const char *hint;        /* what the person can do about it; "" if nothing */
    size_t candidate_count;  /* the length of candidates */
    const cushim_candidate *candidates; /* in the order in which they were tried */
} cushim_report;

/* Where the search may look. */
enum {
    CUSHIM_SEARCH_ENVIRONMENT = 1,    /* CUSHIM_DRIVER, CUSHIM_RUNTIME, CUDA_PATH, CUDA_HOME, ... */
    CUSHIM_SEARCH_ALREADY_LOADED = 2, /* a copy that the process has already loaded */
    CUSHIM_SEARCH_SYSTEM = 4,         /* the system's default search by file name */
    CUSHIM_SEARCH_KNOWN_PLACES = 8,   /* the usual folders of drivers and toolkits; for some further
                                         libraries also the folder of the program */
    CUSHIM_SEARCH_EVERYWHERE = 15     /* all of these; the default */
};

/* Where to search for the libraries: see cushim_configure(). */
typedef struct cushim_settings {
    const char *driver_path;  /* load exactly this file as the driver; NULL: search */
    const char *runtime_path; /* load exactly this file as the runtime; NULL: search */
    unsigned int search;      /* CUSHIM_SEARCH_... ored together */
} cushim_settings;

/* The result of cushim_configure(). */
typedef enum cushim_configure_result {
    CUSHIM_CONFIGURE_OK = 0,       /* the settings apply */
    CUSHIM_CONFIGURE_TOO_LATE = 1, /* a library was already searched for */
    CUSHIM_CONFIGURE_INVALID = 2,  /* an unknown search bit, or a path over 3,999 bytes */
    CUSHIM_CONFIGURE_NO_MEMORY = 3 /* for a copy of the settings */
} cushim_configure_result;

/* Replaces the settings; copies the strings. Accepted until the first search, which is the first
 * call of a table function or of cushim_load. The variables CUSHIM_DRIVER and CUSHIM_RUNTIME
 * override the paths given here, so that the user of a program has the last word. */
CUSHIM_CORE_API cushim_configure_result cushim_configure(const cushim_settings *settings)
    CUSHIM_NOEXCEPT;

/* The path of a library other than the driver and the runtime: load exactly this file. Copies the
 * string. Accepted once for each library, before its first search; its variable (CUSHIM_NVML)
 * overrides it. CUSHIM_CONFIGURE_INVALID also for the driver and the runtime. */
CUSHIM_CORE_API cushim_configure_result cushim_choose_library(cushim_library library,
                                                              const char *path) CUSHIM_NOEXCEPT;

/* The name of a library for a person: "CUDA driver", "NVML". */
CUSHIM_CORE_API const char *cushim_library_title(cushim_library library) CUSHIM_NOEXCEPT;

/* Loads a library if that was not tried before. CUSHIM_STATE_LOADED if its functions can be called,
 * otherwise CUSHIM_STATE_ABSENT (then cushim_absent_status is not 0). Loading the runtime searches
 * for the driver first. In .preinit_array, before the C library is initialised, it returns
 * CUSHIM_STATE_ABSENT without a search, as cushim_reload does; later calls search. */
CUSHIM_CORE_API cushim_state cushim_load(cushim_library library) CUSHIM_NOEXCEPT;

/* Searches again for an absent library, and returns the new state as cushim_load does. A loaded
 * library is unchanged. For the runtime, searches first for an absent driver, and also again for a
 * libcudart that was not used for lack of a driver. */
CUSHIM_CORE_API cushim_state cushim_reload(cushim_library library) CUSHIM_NOEXCEPT;

/* The report of a library; never NULL. Never loads. */
CUSHIM_CORE_API const cushim_report *cushim_load_report(cushim_library library) CUSHIM_NOEXCEPT;

/* The report of all libraries as text for a person, one candidate per line, null-terminated unless
 * size is 0: the driver, the runtime, and the further libraries that the process has used or asked
 * for. Returns the length of the whole text, as snprintf does. Never loads. */
CUSHIM_CORE_API size_t cushim_report_text(char *text, size_t size) CUSHIM_NOEXCEPT;

/* The CUDA version of a library, packed (12060 is 12.6); 0 if it is absent or does not report one.
 * For the driver, the newest CUDA version that it supports (cuDriverGetVersion); for the runtime,
 * its own version (cudaRuntimeGetVersion), even if it is not used for lack of a driver (0 then with
 * CUDA 11, which needs a driver for this call); for others their own version. Loads. */
CUSHIM_CORE_API int cushim_library_version(cushim_library library) CUSHIM_NOEXCEPT;

/* The CUDA_VERSION of the headers that the tables were generated from. */
CUSHIM_CORE_API int cushim_headers_version(void) CUSHIM_NOEXCEPT;

/* The version of cushim, "major.minor.patch". */
CUSHIM_CORE_API const char *cushim_version(void) CUSHIM_NOEXCEPT;

/* The status that the table functions of an absent library return: a CUresult or a cudaError_t, 1
 * for further libraries. 0 if it is loaded. Without a driver a libcudart counts as absent, because
 * it would be useless, unless it was chosen by its path. Loads. */
CUSHIM_CORE_API int cushim_absent_status(cushim_library library) CUSHIM_NOEXCEPT;

/* --- all entry points by name. A program that calls none of these functions links only the entry
 *     points that it calls. For further libraries, pass the number that cushim_NAME_entry_points()
 *     returns; the entry points of those for which it was not called are not known here. */

/* Any entry point; cast it to its own type before calling it. */
typedef void (*cushim_function)(void);

/* An entry point of the CUDA headers. */
typedef struct cushim_entry_point {
    const char *name; /* the exported name: cuMemAlloc_v2 */
    int introduced;   /* the CUDA version that introduced it, packed; 0: no header states it */
    int status;       /* 0: the library has it; otherwise the status of a call (36, 302, ...); for
                         further libraries 1: the library is absent, 2: it lacks the entry point */
} cushim_entry_point;

/* Called once for each entry point, in the order of the headers. */
typedef void (*cushim_visitor)(const cushim_entry_point *entry_point, void *user);

/* Visits every entry point of a library, and returns their number. Loads; changes no slot. */
CUSHIM_CORE_API size_t cushim_visit_entry_points(cushim_library library, cushim_visitor visit,
                                                 void *user) CUSHIM_NOEXCEPT;

/* Resolves every entry point of a library now, so that later calls have no first-use cost. Returns
 * the number resolved; names that the library lacks are unchanged. Loads. */
CUSHIM_CORE_API size_t cushim_resolve_all(cushim_library library) CUSHIM_NOEXCEPT;

/* Finds an entry point by its exported name: writes it to *found and returns 1; returns 0 if the
 * headers have no such name. Loads. */
CUSHIM_CORE_API int cushim_find_entry_point(cushim_library library, const char *name,
                                            cushim_entry_point *found) CUSHIM_NOEXCEPT;

/* Replaces the function in the slot of the entry point with this exported name, and returns the
 * previous one; NULL if the headers have no such name. The function must have the entry point's
 * exact type. Only calls through this copy of cushim are affected. Never loads.
 *
 * If the entry point was never called, the returned function resolves it and then calls the
 * function in the slot: a replacement that calls the returned function then calls itself. To avoid
 * that, call cushim_resolve_all() first. C++ programs use ScopedOverride (override.hpp), which
 * checks the type and restores the previous function. */
CUSHIM_CORE_API cushim_function cushim_exchange_by_name(cushim_library library, const char *name,
                                                        cushim_function function) CUSHIM_NOEXCEPT;

/* The number and the text of declarations that the table generator did not understand and left out.
 * With -Dstrict_tables=true, such a declaration stops the build. */
CUSHIM_CORE_API size_t cushim_left_out(cushim_library library,
                                       const char *const **declarations) CUSHIM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
