#include "candidates.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "path.h"
#include "runtime.h"
#include "settings.h"
#include "text.h"

/* --- checks of a library --- */

typedef int(CUSHIM_CUDA_CALL *MajorMinorQuery)(int *major, int *minor);
typedef int(CUSHIM_CUDA_CALL *PropertyQuery)(int property, int *value);
typedef int(CUSHIM_CUDA_CALL *VersionQuery)(int *version);
typedef size_t(CUSHIM_CUDA_CALL *ReturnedVersionQuery)(void);

/* As CUDA packs its own version; 0, unknown, for numbers that no version has. */
static int packed(long long major, long long minor) {
    const bool plausible = major >= 0 && major < 100000 && minor >= 0 && minor < 100;
    return plausible ? (int)(major * 1000 + minor * 10) : 0;
}

/* Packs a version that a library packs in its own way. */
static int repacked(const cushim_library_description *library, long long version) {
    const int major_unit = library->version_major_unit, minor_unit = library->version_minor_unit;
    return major_unit == 0 ? packed(version / 1000, version % 1000 / 10)
                           : packed(version / major_unit, version % major_unit / minor_unit);
}

/* 0 and the version; or the status that the library returns; or -1 if it lacks the function. */
static int ask_version(Module module, const cushim_library_description *library, int *version) {
    *version = 0;
    if (library->version_kind == CUSHIM_VERSION_NONE) {
        return -1;
    }
    const cushim_function function =
        cushim_platform_find_function(module, library->version_function);
    if (function == NULL) {
        return -1;
    }
    int status = 0, major = 0, minor = 0;
    switch (library->version_kind) {
    case CUSHIM_VERSION_MAJOR_MINOR:
        status = ((MajorMinorQuery)function)(&major, &minor);
        *version = packed(major, minor);
        return status;
    case CUSHIM_VERSION_PROPERTY:
        status = ((PropertyQuery)function)(0, &major);
        if (status == 0) {
            status = ((PropertyQuery)function)(1, &minor);
        }
        *version = packed(major, minor);
        return status;
    case CUSHIM_VERSION_WRITTEN:
        status = ((VersionQuery)function)(&major);
        *version = repacked(library, major);
        return status;
    case CUSHIM_VERSION_RETURNED: {
        const size_t returned = ((ReturnedVersionQuery)function)();
        *version = repacked(library, returned < INT_MAX ? (long long)returned : -1);
        return 0;
    }
    default: // of a newer description
        return -1;
    }
}

/* Whether the library's version function may be called. The libcudart of CUDA 11 needs a driver for
 * that; after a call without one, all of its calls fail, even once a driver is loaded. */
static bool may_ask_version(const Search *search) {
    return cushim_kind_of(search->library) != KIND_RUNTIME || CUSHIM_CUDA_MAJOR >= 12 ||
           cushim_is_usable(search->driver);
}

static cushim_outcome judge_by_name(const cushim_library_description *library, Module module,
                                    Text *detail) {
    if (cushim_platform_find_function(module, library->required) != NULL) {
        return CUSHIM_OUTCOME_LOADED;
    }
    snprintf(detail->chars, sizeof detail->chars, "not %s: it has no %s", library->title,
             library->required);
    return CUSHIM_OUTCOME_NOT_CUDA;
}

static cushim_outcome judge_kind(const Library *library, Module module, int version_status,
                                 Text *detail) {
    switch (cushim_kind_of(library)) {
    case KIND_DRIVER:
        return cushim_judge_driver(module, version_status, detail);
    case KIND_RUNTIME:
        return cushim_judge_runtime(module, version_status, detail);
    case KIND_FURTHER:
        break;
    }
    return judge_by_name(library->description, module, detail);
}

static cushim_outcome judge(const Search *search, Module module, int *version, Text *detail) {
    // Its version function would call this code again, and never return.
    if (cushim_platform_contains_own_code(module)) {
        snprintf(detail->chars, sizeof detail->chars, "it contains this loader itself");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    const cushim_library_description *wanted = search->library->description;
    *version = 0;
    const int status = may_ask_version(search) ? ask_version(module, wanted, version) : -1;
    const cushim_outcome outcome = judge_kind(search->library, module, status, detail);
    if (outcome != CUSHIM_OUTCOME_LOADED) {
        return outcome;
    }
    if (status != 0) {
        *version = 0;
    }
    if (wanted->major >= 0 && *version != 0 && *version / 1000 != wanted->major) {
        snprintf(detail->chars, sizeof detail->chars,
                 "%s %d.%d, but this program was built for major version %d", wanted->title,
                 *version / 1000, *version % 1000 / 10, wanted->major);
        return CUSHIM_OUTCOME_WRONG_VERSION;
    }
    return CUSHIM_OUTCOME_LOADED;
}

/* --- candidates --- */

char *cushim_noted(Search *search, char *text) {
    search->out_of_memory = search->out_of_memory || text == NULL;
    return text;
}

char *cushim_path_in(Search *search, const char *folder, const char *name) {
    if (*folder == '\0') {
        return NULL;
    }
    const bool separated = cushim_platform_is_separator(folder[strlen(folder) - 1]);
    return cushim_noted(search, CUSHIM_JOIN(folder, separated ? "" : "/", name));
}

/* Whether the list has room for one more candidate. */
static bool make_room(Candidates *candidates) {
    if (candidates->count < candidates->capacity) {
        return true;
    }
    const size_t more = candidates->capacity == 0 ? 8 : candidates->capacity * 2;
    cushim_candidate *grown = realloc(candidates->list, more * sizeof *candidates->list);
    if (grown == NULL) {
        return false;
    }
    candidates->list = grown;
    candidates->capacity = more;
    return true;
}

static void record(Search *search, const char *path, cushim_outcome outcome, const char *detail,
                   FileKind problem) {
    // Keeps the first that is known. CUSHIM_FILE_LIBRARY: none yet, or only the message says why.
    if (search->problem == CUSHIM_FILE_LIBRARY && outcome != CUSHIM_OUTCOME_NOT_FOUND) {
        search->problem = problem;
    }
    if (!make_room(&search->candidates)) {
        search->out_of_memory = true;
        return;
    }
    search->candidates.list[search->candidates.count++] = (cushim_candidate){
        .path = cushim_noted(search, cushim_copy_text(path)),
        .outcome = outcome,
        .detail = cushim_noted(search, cushim_copy_text(detail)),
    };
}

static bool has_candidate(const Candidates *candidates, const char *path) {
    for (size_t i = 0; i < candidates->count; ++i) {
        const char *tried = candidates->list[i].path;
        if (tried != NULL && strcmp(tried, path) == 0) {
            return true;
        }
    }
    return false;
}

static cushim_outcome outcome_of(FileKind kind) {
    switch (kind) {
    case CUSHIM_FILE_MISSING:
        return CUSHIM_OUTCOME_NOT_FOUND;
    case CUSHIM_FILE_FOLDER:
    case CUSHIM_FILE_NOT_A_LIBRARY:
    case CUSHIM_FILE_EMPTY:
    case CUSHIM_FILE_UNREADABLE:
    case CUSHIM_FILE_NO_DESCRIPTOR:
        return CUSHIM_OUTCOME_NOT_A_LIBRARY;
    case CUSHIM_FILE_TRUNCATED:
        return CUSHIM_OUTCOME_TRUNCATED;
    case CUSHIM_FILE_WRONG_ARCHITECTURE:
        return CUSHIM_OUTCOME_WRONG_ARCHITECTURE;
    default:
        break;
    }
    return CUSHIM_OUTCOME_REFUSED;
}

/* Takes an opened library if it is suitable, and closes it otherwise. */
static bool take(Search *search, const char *path, Module module, const char *how) {
    Text detail;
    int version = 0;
    const cushim_outcome outcome = judge(search, module, &version, &detail);
    if (outcome == CUSHIM_OUTCOME_LOADED) {
        record(search, path, outcome, how, CUSHIM_FILE_LIBRARY);
        search->module = module;
        search->version = version;
        return true;
    }
    // A bare name does not identify the file.
    char *where = cushim_has_folder(path) ? NULL : cushim_platform_path_of_module(module);
    record(search, where != NULL ? where : path, outcome, detail.chars, CUSHIM_FILE_NOT_A_LIBRARY);
    free(where);
    cushim_platform_close(module);
    return false;
}

/* Whether this is a name of a library that the driver brings. */
static bool is_of_system(const Library *library, const char *name) {
    if ((library->description->places & CUSHIM_PLACE_DRIVER) == 0) {
        return false;
    }
    for (const char *const *own = library->description->file_names; *own != NULL; ++own) {
        if (strcmp(*own, name) == 0) {
            return true;
        }
    }
    return false;
}

bool cushim_try_path(Search *search, const char *path) {
    if (has_candidate(&search->candidates, path)) {
        return false;
    }
    Text detail;
    const FileKind kind = cushim_platform_inspect_file(path, &detail);
    if (kind != CUSHIM_FILE_LIBRARY) {
        record(search, path, outcome_of(kind), detail.chars, kind);
        return false;
    }
    OpenError error;
    const Module module = cushim_platform_open(path, CUSHIM_OPEN_LOAD, &error);
    if (module != NULL) {
        return take(search, path, module, "in use");
    }
    record(search, path, CUSHIM_OUTCOME_REFUSED, error.message.chars, error.kind);
    return false;
}

bool cushim_try_path_in(Search *search, const char *folder, const char *name) {
    char *path = cushim_path_in(search, folder, name);
    const bool found = path != NULL && cushim_try_path(search, path);
    free(path);
    return found;
}

static bool try_if_there(Search *search, const char *path) {
    Text detail;
    return cushim_platform_inspect_file(path, &detail) != CUSHIM_FILE_MISSING &&
           cushim_try_path(search, path);
}

bool cushim_try_path_if_there(Search *search, const char *folder, const char *name) {
    char *path = cushim_path_in(search, folder, name);
    const bool found = path != NULL && try_if_there(search, path);
    free(path);
    return found;
}

bool cushim_try_already_loaded(Search *search, const char *name) {
    OpenError error;
    const Module module = cushim_platform_open(name, CUSHIM_OPEN_ALREADY_LOADED, &error);
    return module != NULL &&
           take(search, name, module, "in use: the process had already loaded it");
}

/* --- the system's search --- */

/* Tries only the library that the system's search finds. */
static bool try_system_search(Search *search, const char *name) {
    OpenError error;
    const Module module = cushim_platform_open(
        name, is_of_system(search->library, name) ? CUSHIM_OPEN_SYSTEM : CUSHIM_OPEN_LOAD, &error);
    if (module != NULL) {
        return take(search, name, module, "in use");
    }
    record(search, name, error.missing ? CUSHIM_OUTCOME_NOT_FOUND : CUSHIM_OUTCOME_REFUSED,
           error.message.chars, error.kind);
    return false;
}

static FileKind kind_of_file(const char *path) {
    Text detail;
    return cushim_platform_inspect_file(path, &detail);
}

static bool note_damage(const char *path, FoundPlace place, void *user) {
    bool *damaged = user;
    const FileKind kind = kind_of_file(path);
    *damaged = kind == CUSHIM_FILE_TRUNCATED;
    return *damaged || (kind == CUSHIM_FILE_LIBRARY && place == CUSHIM_FOUND_FIRST);
}

/* Whether the system's search might find a damaged file, which could crash the process. */
static bool may_find_damaged(const char *name) {
    bool damaged = false;
    cushim_platform_visit_system_search(name, note_damage, &damaged);
    return damaged;
}

static bool try_found(const char *path, FoundPlace place, void *user) {
    Search *search = user;
    if (place == CUSHIM_FOUND_VARIANT && kind_of_file(path) != CUSHIM_FILE_TRUNCATED) {
        return false; // perhaps not for this processor
    }
    return try_if_there(search, path);
}

/* Tries the files that the system's search may find, one by one. */
static bool try_each_found(Search *search, const char *name) {
    return cushim_platform_visit_system_search(name, try_found, search);
}

bool cushim_try_default_search(Search *search, const char *name) {
    const bool damaged = may_find_damaged(name);
    if (damaged && cushim_looks_in(CUSHIM_SEARCH_ALREADY_LOADED) &&
        cushim_try_already_loaded(search, name)) {
        return true;
    }
    return (!damaged && try_system_search(search, name)) || try_each_found(search, name);
}

bool cushim_try_chosen(Search *search, const char *path) {
    search->chosen = true;
    if (cushim_has_folder(path)) {
        return cushim_try_path(search, path);
    }
    return may_find_damaged(path) ? try_each_found(search, path) : try_system_search(search, path);
}

void cushim_free_candidates(const cushim_candidate *list, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        free((void *)list[i].path);
        free((void *)list[i].detail);
    }
    free((void *)list);
}
