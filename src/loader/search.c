/* Searches for a library in the documented order (README.md), and records what it finds.
 *
 * The chosen path (its variable, or the settings); a copy that the process has already loaded; the
 * system's default search; then the folders of the places that its description names. If a chosen
 * path cannot be used, the search ends: a silent replacement would be surprising. All libraries are
 * searched for by exactly the file names of the headers' major version, since struct layouts differ
 * between major versions.
 */
#include <stdlib.h>
#include <string.h>

#include "attempt.h"
#include "explain.h"
#include "loaded_library.h"
#include "mark_text.h"
#include "path.h"
#include "settings.h"

// In this file, since every program that calls CUDA links it.
CUSHIM_MARK(cushim_core_mark, CUSHIM_MARK_CORE, CUSHIM_MARK_TEXT);

static bool looks_in(unsigned int place) {
    return (cushim_current_settings()->search & place) != 0;
}

static const char *variable(const char *name) {
    return looks_in(CUSHIM_SEARCH_ENVIRONMENT) ? cushim_platform_environment(name) : NULL;
}

/* The path that was chosen for a library, by the user or the program; NULL: none. */
static const char *chosen_path(const Library *library) {
    const char *path = variable(library->description->variable);
    return path != NULL ? path : cushim_path_in_settings(library);
}

/* Tries the library's file names in a folder, by preference. */
static bool try_folder(Search *search, const char *folder) {
    const char *const *name = search->library->description->file_names;
    while (*name != NULL && !cushim_try_path_if_there(search, folder, *name)) {
        ++name;
    }
    return *name != NULL;
}

typedef bool SearchFolder(Search *search, const char *folder);

/* Tries the folder `name` in `parent`. */
static bool try_in(Search *search, const char *parent, const char *name, SearchFolder *attempt) {
    char *folder = cushim_path_in(parent, name);
    const bool found = folder != NULL && attempt(search, folder);
    free(folder);
    return found;
}

/* Tries these folders, which are below `root`. */
static bool try_below(Search *search, const char *root, const char *const *folders) {
    while (*folders != NULL && !try_in(search, root, *folders, try_folder)) {
        ++folders;
    }
    return *folders != NULL;
}

typedef struct CushimListing {
    Search *search;
    const char *parent;
    SearchFolder *attempt;
} Listing;

static void try_listed_folder(const char *name, void *user) {
    const Listing *all = (const Listing *)user;
    if (all->search->module == NULL) {
        try_in(all->search, all->parent, name, all->attempt);
    }
}

/* Tries all folders in `parent` whose name begins so, until the library is found. */
static bool try_listed(Search *search, const char *parent, const char *beginning,
                       SearchFolder *attempt) {
    Listing listing = {search, parent, attempt};
    cushim_platform_list_folder(parent, beginning, try_listed_folder, &listing);
    return search->module != NULL;
}

/* The folder of a file, on the heap; empty if the path has none, NULL if out of memory. */
static char *folder_of(const char *file) {
    char *folder = cushim_copy_text(file);
    if (folder != NULL) {
        folder[cushim_file_name_in(file) - file] = '\0';
    }
    return folder;
}

/* Tries the folder of this file; NULL: none. */
static bool try_folder_of(Search *search, const char *file, SearchFolder *attempt) {
    char *folder = file != NULL ? folder_of(file) : NULL;
    const bool found = folder != NULL && attempt(search, folder);
    free(folder);
    return found;
}

/* --- the places --- */

/* The path that was chosen for the driver when it was searched for, or NULL. */
static const char *path_of_chosen_driver(void) {
    const LoadedLibrary *driver = cushim_current_record(&cushim_driver_library);
    if (driver == NULL && chosen_path(&cushim_driver_library) != NULL) {
        driver = cushim_ensure_loaded(&cushim_driver_library); // by its path, the folder is known
    }
    if (driver == NULL || !driver->chosen) {
        return NULL;
    }
    if (driver->report.path != NULL) {
        return driver->report.path;
    }
    return driver->report.candidate_count > 0 ? driver->report.candidates[0].path : "";
}

/* Tries only the library's file names beside the chosen driver. A bare name that was not found has
 * no folder. */
static bool try_beside(Search *search, const char *folder) {
    const char *const *name = search->library->description->file_names;
    while (*name != NULL && !cushim_try_path_in(search, folder, *name)) {
        ++name;
    }
    return *name != NULL;
}

static void search_beside(Search *search, const char *driver) {
    search->chosen = search->beside = true;
    try_folder_of(search, driver, try_beside);
}

static bool search_driver_folders(Search *search) {
    if (!looks_in(CUSHIM_SEARCH_KNOWN_PLACES)) {
        return false;
    }
    const LoadedLibrary *driver = cushim_current_record(&cushim_driver_library);
    if (cushim_is_used(driver) && try_folder_of(search, driver->report.path, try_folder)) {
        return true;
    }
    const char *const *folder = cushim_platform_driver_folders;
    while (*folder != NULL && !try_folder(search, *folder)) {
        ++folder;
    }
    return *folder != NULL;
}

static bool search_toolkit(Search *search, const char *root) {
    return try_below(search, root, cushim_platform_toolkit_folders);
}

/* /usr/local/cuda, /usr/local/cuda-13.0, ... */
static bool search_installed_toolkits(Search *search) {
    const char *parent = cushim_platform_toolkit_parent;
    return parent != NULL && looks_in(CUSHIM_SEARCH_KNOWN_PLACES) &&
           (try_in(search, parent, "cuda", search_toolkit) ||
            try_listed(search, parent, "cuda", search_toolkit));
}

static bool search_toolkit_of(Search *search, const char *name) {
    const char *root = variable(name);
    return root != NULL && search_toolkit(search, root);
}

static bool search_toolkits(Search *search) {
    return search_toolkit_of(search, "CUDA_PATH") || search_toolkit_of(search, "CUDA_HOME") ||
           search_installed_toolkits(search);
}

static bool search_site_packages(Search *search, const char *folder) {
    const char *const *folders = search->library->description->package_folders;
    return folders != NULL && try_below(search, folder, folders);
}

/* The packages in the folder of one Python version. */
static bool search_packages(Search *search, const char *python) {
    return try_in(search, python, "site-packages", search_site_packages);
}

static bool search_python_folder(Search *search, const char *folder) {
    return search_packages(search, folder) || // Windows has no python3.11 folder
           try_listed(search, folder, "python3", search_packages);
}

/* The packages of a Python environment: <root>/lib/python3.11/site-packages/nvidia/... */
static bool search_python(Search *search, const char *root) {
    return try_in(search, root, cushim_platform_python_folder, search_python_folder);
}

static bool search_environments(Search *search) {
    const char *conda = variable("CONDA_PREFIX");
    if (conda != NULL && (try_below(search, conda, cushim_platform_environment_folders) ||
                          search_python(search, conda))) {
        return true;
    }
    const char *python = variable("VIRTUAL_ENV");
    return python != NULL && search_python(search, python);
}

static bool search_program_folder(Search *search) {
    char *program = looks_in(CUSHIM_SEARCH_KNOWN_PLACES) ? cushim_platform_path_of_program() : NULL;
    const bool found = try_folder_of(search, program, try_folder);
    free(program);
    return found;
}

/* The places of descriptions, in the order of the search. */
static bool search_folders(Search *search) {
    const unsigned int places = search->library->description->places;
    return ((places & CUSHIM_PLACE_DRIVER) != 0 && search_driver_folders(search)) ||
           ((places & CUSHIM_PLACE_TOOLKIT) != 0 && search_toolkits(search)) ||
           ((places & CUSHIM_PLACE_PACKAGES) != 0 && search_environments(search)) ||
           ((places & CUSHIM_PLACE_PROGRAM) != 0 && search_program_folder(search));
}

/* Tries the library's file names by preference. */
static bool try_names(Search *search, bool (*attempt)(Search *search, const char *name)) {
    const char *const *name = search->library->description->file_names;
    while (*name != NULL && !attempt(search, *name)) {
        ++name;
    }
    return *name != NULL;
}

static void search_places(Search *search) {
    const char *path = chosen_path(search->library);
    if (path != NULL) {
        cushim_try_chosen(search, path);
        return;
    }
    const bool may_be_beside =
        (search->library->description->places & CUSHIM_PLACE_BESIDE_DRIVER) != 0 &&
        cushim_file_name_of(search->library)[0] != '\0';
    const char *driver = may_be_beside ? path_of_chosen_driver() : NULL;
    if (driver != NULL) {
        search_beside(search, driver);
        return;
    }
    if (!(looks_in(CUSHIM_SEARCH_ALREADY_LOADED) && try_names(search, cushim_try_already_loaded)) &&
        !(looks_in(CUSHIM_SEARCH_SYSTEM) && try_names(search, cushim_try_default_search))) {
        search_folders(search);
    }
}

static bool is_disabled(void) {
    const char *value = variable("CUSHIM_DISABLE");
    return value != NULL && strcmp(value, "0") != 0;
}

/* Whether only variables may choose the library, and none does. Then nothing is searched. */
static bool is_switched_off(const Search *search) {
    const bool in_environment = (search->library->description->places &
                                 (CUSHIM_PLACE_TOOLKIT | CUSHIM_PLACE_PACKAGES)) != 0;
    const unsigned int places = CUSHIM_SEARCH_ALREADY_LOADED | CUSHIM_SEARCH_SYSTEM |
                                CUSHIM_SEARCH_KNOWN_PLACES |
                                (in_environment ? (unsigned int)CUSHIM_SEARCH_ENVIRONMENT : 0u);
    return !search->chosen && !looks_in(places);
}

/* --- the record --- */

/* Without a driver, all calls of a libcudart fail, and some of its results are undefined where
 * cushim's are not: the number of devices, and which last error is returned. So it is not used,
 * unless its own path was chosen. `has_driver`: at the start of the search. */
static bool lacks_driver(const Search *search, bool has_driver) {
    const cushim_special *special = search->library->special;
    const bool chosen_by_path = search->chosen && !search->beside;
    return special != NULL && special->needs_driver && search->module != NULL && !has_driver &&
           !chosen_by_path;
}

static void write_record(LoadedLibrary *record, const Search *search, bool disabled) {
    cushim_report *report = &record->report;
    record->module = search->module;
    record->chosen = search->chosen;
    report->candidate_count = search->candidates.count;
    report->candidates = search->candidates.list;
    report->state = search->module != NULL ? CUSHIM_STATE_LOADED : CUSHIM_STATE_ABSENT;
    if (search->module != NULL) {
        char *path = cushim_platform_path_of_module(search->module);
        report->path = path != NULL ? path : cushim_copy_text(cushim_file_name_of(search->library));
        report->version = search->version;
    }
    const SearchSummary summary = {search->library,         disabled,
                                   search->chosen,          search->beside,
                                   is_switched_off(search), looks_in(CUSHIM_SEARCH_ENVIRONMENT)};
    record->hint = cushim_explain(report, &summary);
}

LoadedLibrary *cushim_search(Library *library) {
    Search search = {library, {NULL, 0, 0}, NULL, 0, false, false};
    const bool disabled = is_disabled();
    const bool has_driver = cushim_is_used(cushim_current_record(&cushim_driver_library));
    if (!disabled) {
        search_places(&search);
    }
    LoadedLibrary *record = (LoadedLibrary *)calloc(1, sizeof(LoadedLibrary));
    if (record == NULL) {
        cushim_free_candidates(search.candidates.list, search.candidates.count);
        return NULL;
    }
    write_record(record, &search, disabled);
    record->lacks_driver = lacks_driver(&search, has_driver);
    return record;
}

void cushim_discard(LoadedLibrary *record) {
    const cushim_report *report = &record->report;
    cushim_free_candidates(report->candidates, report->candidate_count);
    free((void *)report->path);
    if (report->explanation != cushim_out_of_memory) {
        free((void *)report->explanation);
    }
    free(record->hint);
    free(record);
}
