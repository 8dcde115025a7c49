#include "attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"

/* --- checks of a library --- */

typedef int(CUSHIM_CUDA_CALL *MajorMinorQuery)(int *major, int *minor);
typedef int(CUSHIM_CUDA_CALL *PropertyQuery)(int property, int *value);
typedef int(CUSHIM_CUDA_CALL *VersionQuery)(int *version);
typedef size_t(CUSHIM_CUDA_CALL *ReturnedVersionQuery)(void);

static int packed(int major, int minor) {
    return major * 1000 + minor * 10;
}

/* 0 and the version, packed as CUDA packs its own; or the status that the library returns; or -1 if
 * it lacks the function. */
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
        status = ((VersionQuery)function)(version);
        break;
    case CUSHIM_VERSION_RETURNED:
        *version = (int)((ReturnedVersionQuery)function)();
        break;
    default: // of a newer description
        return -1;
    }
    if (library->version_major_unit != 0) {
        *version = packed(*version / library->version_major_unit,
                          *version % library->version_major_unit / library->version_minor_unit);
    }
    return status;
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

static cushim_outcome judge(const Library *library, Module module, int *version, Text *detail) {
    // Asking it for its version would call back into this code, without end.
    if (cushim_platform_contains_own_code(module)) {
        snprintf(detail->chars, sizeof detail->chars, "it contains this loader itself");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    const cushim_library_description *wanted = library->description;
    const int status = ask_version(module, wanted, version);
    const cushim_outcome outcome = library->special != NULL
                                       ? library->special->judge(module, status, detail)
                                       : judge_by_name(wanted, module, detail);
    if (outcome != CUSHIM_OUTCOME_LOADED) {
        return outcome;
    }
    if (status != 0) {
        *version = 0;
    }
    if (wanted->major != 0 && *version != 0 && *version / 1000 != wanted->major) {
        snprintf(detail->chars, sizeof detail->chars,
                 "%s %d.%d, but this program was built for major version %d", wanted->title,
                 *version / 1000, *version % 1000 / 10, wanted->major);
        return CUSHIM_OUTCOME_WRONG_VERSION;
    }
    return CUSHIM_OUTCOME_LOADED;
}

/* --- candidates --- */

static cushim_outcome outcome_of(FileKind kind) {
    switch (kind) {
    case CUSHIM_FILE_MISSING:
        return CUSHIM_OUTCOME_NOT_FOUND;
    case CUSHIM_FILE_FOLDER:
    case CUSHIM_FILE_NOT_A_LIBRARY:
        return CUSHIM_OUTCOME_NOT_A_LIBRARY;
    case CUSHIM_FILE_TRUNCATED:
        return CUSHIM_OUTCOME_TRUNCATED;
    case CUSHIM_FILE_WRONG_ARCHITECTURE:
        return CUSHIM_OUTCOME_WRONG_ARCHITECTURE;
    case CUSHIM_FILE_LIBRARY:
        break;
    }
    return CUSHIM_OUTCOME_REFUSED;
}

static void record(Search *search, const char *path, cushim_outcome outcome, const char *detail) {
    cushim_add_candidate(&search->candidates, path, outcome, detail);
}

/* Takes an opened library if it is suitable, and closes it otherwise. */
static bool take(Search *search, const char *path, Module module, const char *how) {
    Text detail;
    int version = 0;
    const cushim_outcome outcome = judge(search->library, module, &version, &detail);
    if (outcome == CUSHIM_OUTCOME_LOADED) {
        record(search, path, outcome, how);
        search->module = module;
        search->version = version;
        return true;
    }
    // A bare name does not identify the file.
    char *where = cushim_has_folder(path) ? NULL : cushim_platform_path_of_module(module);
    record(search, where != NULL ? where : path, outcome, detail.chars);
    free(where);
    cushim_platform_close(module);
    return false;
}

/* Searches for a file in the folders of the system search. */
typedef struct CushimInSearchPath {
    Search *search;
    const char *name;
    bool damaged;
} InSearchPath;

static bool note_damage(const char *folder, void *user) {
    InSearchPath *looking = (InSearchPath *)user;
    Text detail;
    char *path = cushim_path_in(folder, looking->name);
    const FileKind kind =
        path != NULL ? cushim_platform_inspect_file(path, &detail) : CUSHIM_FILE_MISSING;
    free(path);
    looking->damaged = kind == CUSHIM_FILE_TRUNCATED;
    return looking->damaged || kind == CUSHIM_FILE_LIBRARY;
}

/* Whether the first library that the system's search would find is damaged. Its file is checked,
 * since loading it could crash the process. */
static bool damaged_comes_first(const char *name) {
    InSearchPath first = {NULL, name, false};
    cushim_platform_visit_search_path(note_damage, &first);
    return first.damaged;
}

static bool try_folder_of_system(const char *folder, void *user) {
    const InSearchPath *looking = (const InSearchPath *)user;
    return cushim_try_path_if_there(looking->search, folder, looking->name);
}

/* Tries the folders one by one, after the system's search has found an unsuitable library. */
static bool try_search_path(Search *search, const char *name) {
    InSearchPath all = {search, name, false};
    return cushim_platform_visit_search_path(try_folder_of_system, &all);
}

/* Whether this is a name of a library that the driver brings. */
static bool is_of_system(const Library *library, const char *name) {
    if ((library->description->places & CUSHIM_PLACE_DRIVER) == 0) {
        return false;
    }
    const char *const *own = library->description->file_names;
    while (*own != NULL && strcmp(*own, name) != 0) {
        ++own;
    }
    return *own != NULL;
}

/* Tries only the library that the system's search finds. */
static bool try_system_search(Search *search, const char *name) {
    OpenError error;
    const Module module = cushim_platform_open(
        name, is_of_system(search->library, name) ? CUSHIM_OPEN_SYSTEM : CUSHIM_OPEN_LOAD, &error);
    if (module != NULL) {
        return take(search, name, module, "in use");
    }
    record(search, name, error.missing ? CUSHIM_OUTCOME_NOT_FOUND : CUSHIM_OUTCOME_REFUSED,
           error.message.chars);
    return false;
}

bool cushim_try_path(Search *search, const char *path) {
    if (cushim_has_candidate(&search->candidates, path)) {
        return false;
    }
    Text detail;
    const FileKind kind = cushim_platform_inspect_file(path, &detail);
    if (kind != CUSHIM_FILE_LIBRARY) {
        record(search, path, outcome_of(kind), detail.chars);
        return false;
    }
    OpenError error;
    const Module module = cushim_platform_open(path, CUSHIM_OPEN_LOAD, &error);
    if (module != NULL) {
        return take(search, path, module, "in use");
    }
    record(search, path, CUSHIM_OUTCOME_REFUSED, error.message.chars);
    return false;
}

bool cushim_try_path_in(Search *search, const char *folder, const char *name) {
    char *path = cushim_path_in(folder, name);
    const bool found = path != NULL && cushim_try_path(search, path);
    free(path);
    return found;
}

bool cushim_try_path_if_there(Search *search, const char *folder, const char *name) {
    Text detail;
    char *path = cushim_path_in(folder, name);
    const bool found = path != NULL &&
                       cushim_platform_inspect_file(path, &detail) != CUSHIM_FILE_MISSING &&
                       cushim_try_path(search, path);
    free(path);
    return found;
}

bool cushim_try_already_loaded(Search *search, const char *name) {
    OpenError error;
    const Module module = cushim_platform_open(name, CUSHIM_OPEN_ALREADY_LOADED, &error);
    return module != NULL &&
           take(search, name, module, "in use: the process had already loaded it");
}

bool cushim_try_default_search(Search *search, const char *name) {
    return (!damaged_comes_first(name) && try_system_search(search, name)) ||
           try_search_path(search, name);
}

bool cushim_try_chosen(Search *search, const char *path) {
    search->chosen = true;
    if (cushim_has_folder(path)) {
        return cushim_try_path(search, path);
    }
    return damaged_comes_first(path) ? try_search_path(search, path)
                                     : try_system_search(search, path);
}
