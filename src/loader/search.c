/* Searches for a library in the documented order (README.md), and records what it finds.
 *
 * The chosen path (its variable, or the settings); a copy that the process has already loaded; the
 * system's default search; then the folders of the places that its description names. If a chosen
 * path cannot be used, the search ends: a silent replacement would be surprising. Otherwise only
 * the file names of the description are searched for. Of a library whose name changes with its
 * major version, that is the name of the headers' version, since struct layouts differ.
 */
#include "search.h"

#include <stdlib.h>
#include <string.h>

#include "candidates.h"
#include "explain.h"
#include "mark_text.h"
#include "path.h"
#include "settings.h"

// In this file, since every program that calls CUDA links it.
CUSHIM_MARK(cushim_core_mark, CUSHIM_MARK_CORE, CUSHIM_MARK_TEXT);

/* Tries the library's file names in a folder, by preference. */
static bool try_folder(Search *search, const char *folder) {
    for (const char *const *name = search->library->description->file_names; *name != NULL;
         ++name) {
        if (cushim_try_path_if_there(search, folder, *name)) {
            return true;
        }
    }
    return false;
}

typedef bool SearchFolder(Search *search, const char *folder);

/* Tries the folder `name` in `parent`. */
static bool try_in(Search *search, const char *parent, const char *name, SearchFolder *attempt) {
    char *folder = cushim_path_in(search, parent, name);
    const bool found = folder != NULL && attempt(search, folder);
    free(folder);
    return found;
}

/* Tries these folders, which are below `root`. */
static bool try_below(Search *search, const char *root, const char *const *folders) {
    for (; *folders != NULL; ++folders) {
        if (try_in(search, root, *folders, try_folder)) {
            return true;
        }
    }
    return false;
}

typedef struct {
    Search *search;
    const char *parent;
    SearchFolder *attempt;
} Listing;

static void try_listed_folder(const char *name, void *user) {
    const Listing *all = user;
    if (all->search->module == NULL) {
        try_in(all->search, all->parent, name, all->attempt);
    }
}

/* Tries the folders in `parent` whose names begin with `beginning`, until the library is found. */
static bool try_listed(Search *search, const char *parent, const char *beginning,
                       SearchFolder *attempt) {
    Listing listing = {search, parent, attempt};
    cushim_platform_list_folder(parent, beginning, try_listed_folder, &listing);
    return search->module != NULL;
}

/* The folder of a file, on the heap; empty if the path has none, NULL if memory ran out. */
static char *folder_of(Search *search, const char *file) {
    char *folder = cushim_noted(search, cushim_copy_text(file));
    if (folder != NULL) {
        folder[cushim_file_name_in(file) - file] = '\0';
    }
    return folder;
}

/* Tries the folder of this file; NULL: none. */
static bool try_folder_of(Search *search, const char *file, SearchFolder *attempt) {
    char *folder = file != NULL ? folder_of(search, file) : NULL;
    const bool found = folder != NULL && attempt(search, folder);
    free(folder);
    return found;
}

/* --- the places --- */

/* The path that was chosen for the driver when it was searched for, or NULL. */
static const char *path_of_chosen(const SearchRecord *driver) {
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
    for (const char *const *name = search->library->description->file_names; *name != NULL;
         ++name) {
        if (cushim_try_path_in(search, folder, *name)) {
            return true;
        }
    }
    return false;
}

static void search_beside(Search *search, const char *driver) {
    search->chosen = search->beside = true;
    try_folder_of(search, driver, try_beside);
}

static bool search_driver_folders(Search *search) {
    if (!cushim_looks_in(CUSHIM_SEARCH_KNOWN_PLACES)) {
        return false;
    }
    if (cushim_is_usable(search->driver) &&
        try_folder_of(search, search->driver->report.path, try_folder)) {
        return true;
    }
    for (const char *const *folder = cushim_platform_driver_folders; *folder != NULL; ++folder) {
        if (try_folder(search, *folder)) {
            return true;
        }
    }
    return false;
}

static bool search_toolkit(Search *search, const char *root) {
    return try_below(search, root, cushim_platform_toolkit_folders);
}

/* /usr/local/cuda, /usr/local/cuda-13.0, ... */
static bool search_installed_toolkits(Search *search) {
    const char *parent = cushim_platform_toolkit_parent;
    return parent != NULL && cushim_looks_in(CUSHIM_SEARCH_KNOWN_PLACES) &&
           (try_in(search, parent, "cuda", search_toolkit) ||
            try_listed(search, parent, "cuda", search_toolkit));
}

static bool search_toolkit_of(Search *search, const char *name) {
    const char *root = cushim_variable(name);
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
    return try_in(search, python, "site-packages", search_site_packages) ||
           try_in(search, python, "dist-packages", search_site_packages); // Debian
}

static bool search_python_folder(Search *search, const char *folder) {
    return search_packages(search, folder) || // Windows has no python3.11 folder
           try_listed(search, folder, "python3", search_packages);
}

/* The packages of a Python environment: <root>/lib/python3.11/site-packages/nvidia/... */
static bool search_python(Search *search, const char *root) {
    return try_in(search, root, cushim_platform_python_folder, search_python_folder);
}

/* Cuts the path after its last folder of Python packages; false if it has none. */
static bool cut_after_packages(char *path) {
    for (char *end = path + strlen(path); end > path;) {
        *end = '\0';
        const char *name = cushim_file_name_in(path);
        if (strcmp(name, "site-packages") == 0 || strcmp(name, "dist-packages") == 0) {
            return true;
        }
        end = name > path ? path + (name - path) - 1 : path;
    }
    return false;
}

/* The packages that were installed beside the one that contains this loader, or, for a further
 * library, its table. */
static bool search_packages_beside(Search *search) {
    char *path = cushim_platform_path_of_module_with(search->library);
    const bool found =
        path != NULL && cut_after_packages(path) && search_site_packages(search, path);
    free(path);
    return found;
}

/* An environment of conda, or the prefix of a Python. */
static bool search_prefix(Search *search, const char *root) {
    return try_below(search, root, cushim_platform_environment_folders) ||
           search_python(search, root);
}

/* Tries a folder if it is the root of a virtual environment of Python. */
static bool search_virtual_environment(Search *search, const char *root) {
    char *mark = cushim_path_in(search, root, "pyvenv.cfg");
    Text ignored;
    const bool is_root =
        mark != NULL && cushim_platform_inspect_file(mark, &ignored) != CUSHIM_FILE_MISSING;
    free(mark);
    return is_root && search_python(search, root);
}

static bool search_environment_around(Search *search, const char *folder) {
    return try_in(search, folder, "..", search_virtual_environment);
}

/* Only around a folder bin: what is around any other folder may belong to anyone. */
static bool search_prefix_around(Search *search, const char *folder) {
    const size_t length = strlen(folder), end = strlen("/bin/"); // folders end with a separator
    return search_environment_around(search, folder) ||
           (length > end && strcmp(folder + length - end, "/bin/") == 0 &&
            (try_in(search, folder, "..", search_prefix) ||
             try_in(search, folder, "../local", search_prefix))); // where Debian's pip installs
}

static bool search_environment_of(const char *program, void *search) {
    const bool is_python = strncmp(cushim_file_name_in(program), "python", strlen("python")) == 0;
    return try_folder_of(search, program,
                         is_python ? search_prefix_around : search_environment_around);
}

/* Of a Python that runs without an activated environment, as in services. */
static bool search_without_variables(Search *search) {
    return cushim_looks_in(CUSHIM_SEARCH_KNOWN_PLACES) &&
           (search_packages_beside(search) ||
            cushim_platform_visit_program_paths(search_environment_of, search));
}

static bool search_environments(Search *search) {
    const char *conda = cushim_variable("CONDA_PREFIX");
    if (conda != NULL && search_prefix(search, conda)) {
        return true;
    }
    const char *python = cushim_variable("VIRTUAL_ENV");
    return (python != NULL && search_python(search, python)) || search_without_variables(search);
}

static bool search_program_folder(Search *search) {
    char *program =
        cushim_looks_in(CUSHIM_SEARCH_KNOWN_PLACES) ? cushim_platform_path_of_program() : NULL;
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
    for (const char *const *name = search->library->description->file_names; *name != NULL;
         ++name) {
        if (attempt(search, *name)) {
            return true;
        }
    }
    return false;
}

/* Tries the copies that the process has already loaded. Skipped if the library has only one name
 * and the next step, the system's search, also returns a loaded copy first: it would add 6 us to a
 * first call. */
static bool search_loaded(Search *search) {
    const char *const *names = search->library->description->file_names;
    const bool has_one_name = names[0] != NULL && names[1] == NULL;
    const bool is_next =
        cushim_platform_opens_loaded_first && has_one_name && cushim_looks_in(CUSHIM_SEARCH_SYSTEM);
    return cushim_looks_in(CUSHIM_SEARCH_ALREADY_LOADED) && !is_next &&
           try_names(search, cushim_try_already_loaded);
}

static void search_places(Search *search) {
    const char *path = cushim_chosen_path(search->library);
    if (path != NULL) {
        cushim_try_chosen(search, path);
        return;
    }
    const char *driver =
        cushim_may_be_beside_driver(search->library) ? path_of_chosen(search->driver) : NULL;
    if (driver != NULL) {
        search_beside(search, driver);
        return;
    }
    if (!search_loaded(search) &&
        !(cushim_looks_in(CUSHIM_SEARCH_SYSTEM) && try_names(search, cushim_try_default_search))) {
        search_folders(search);
    }
}

static bool is_disabled(void) {
    const char *value = cushim_variable("CUSHIM_DISABLE");
    return value != NULL && strcmp(value, "0") != 0;
}

/* Whether only variables may choose the library, and none does. Then nothing is searched. */
static bool is_switched_off(const Search *search) {
    const bool in_environment = (search->library->description->places &
                                 (CUSHIM_PLACE_TOOLKIT | CUSHIM_PLACE_PACKAGES)) != 0;
    const unsigned int places = CUSHIM_SEARCH_ALREADY_LOADED | CUSHIM_SEARCH_SYSTEM |
                                CUSHIM_SEARCH_KNOWN_PLACES |
                                (in_environment ? (unsigned int)CUSHIM_SEARCH_ENVIRONMENT : 0u);
    return !search->chosen && !cushim_looks_in(places);
}

/* --- the record --- */

/* Without a driver, all calls of a libcudart fail, and some of its results are undefined where
 * cushim's are not: the number of devices, and which last error is returned. So it is not used,
 * unless its own path was chosen. */
static bool lacks_driver(const Search *search) {
    const bool chosen_by_path = search->chosen && !search->beside;
    return cushim_kind_of(search->library) == KIND_RUNTIME && search->module != NULL &&
           !cushim_is_usable(search->driver) && !chosen_by_path;
}

/* The path of the library that was found, on the heap. */
static char *path_of_found(const Search *search) {
    char *path = cushim_platform_path_of_module(search->module);
    if (path != NULL) {
        return path;
    }
    const Candidates *tried = &search->candidates;
    return cushim_copy_text(tried->list[tried->count - 1].path);
}

static void write_record(SearchRecord *record, Search *search, bool disabled) {
    cushim_report *report = &record->report;
    record->module = search->module;
    record->chosen = search->chosen;
    record->lacks_driver = lacks_driver(search);
    report->state = search->module != NULL ? CUSHIM_STATE_LOADED : CUSHIM_STATE_ABSENT;
    if (search->module != NULL) {
        report->path = cushim_noted(search, path_of_found(search));
        report->version = search->version;
    }
    const SearchSummary summary = {
        .library = search->library,
        .disabled = disabled,
        .chosen = search->chosen,
        .beside = search->beside,
        .switched_off = is_switched_off(search),
        .environment = cushim_looks_in(CUSHIM_SEARCH_ENVIRONMENT),
        .problem = search->problem,
    };
    cushim_explain(report, &summary);
    search->out_of_memory =
        search->out_of_memory || report->explanation == NULL || report->hint == NULL;
}

SearchRecord *cushim_search(const Library *library, const SearchRecord *driver) {
    SearchRecord *record = calloc(1, sizeof *record);
    if (record == NULL) {
        return NULL;
    }
    Search search = {.library = library, .driver = driver};
    const bool disabled = is_disabled();
    if (!disabled) {
        search_places(&search);
    }
    record->report.candidates = search.candidates.list;
    record->report.candidate_count = search.candidates.count;
    if (!search.out_of_memory) {
        write_record(record, &search, disabled);
    }
    if (search.out_of_memory) {
        cushim_discard(record);
        return NULL;
    }
    return record;
}

static bool is_same_text(const char *left, const char *right) {
    return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
}

static bool are_same_candidates(const cushim_report *left, const cushim_report *right) {
    if (left->candidate_count != right->candidate_count) {
        return false;
    }
    for (size_t i = 0; i < left->candidate_count; ++i) {
        const cushim_candidate *one = &left->candidates[i], *other = &right->candidates[i];
        if (one->outcome != other->outcome || !is_same_text(one->path, other->path) ||
            !is_same_text(one->detail, other->detail)) {
            return false;
        }
    }
    return true;
}

bool cushim_is_same_result(const SearchRecord *left, const SearchRecord *right) {
    return left->module == right->module && left->chosen == right->chosen &&
           left->lacks_driver == right->lacks_driver &&
           left->report.version == right->report.version &&
           is_same_text(left->report.path, right->report.path) &&
           is_same_text(left->report.explanation, right->report.explanation) &&
           is_same_text(left->report.hint, right->report.hint) &&
           are_same_candidates(&left->report, &right->report);
}

void cushim_discard(SearchRecord *record) {
    const cushim_report *report = &record->report;
    cushim_free_candidates(report->candidates, report->candidate_count);
    free((void *)report->path);
    free((void *)report->explanation);
    free((void *)report->hint);
    free(record);
}
