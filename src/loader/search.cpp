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

#include "attempt.hpp"
#include "explain.hpp"
#include "loaded_library.hpp"
#include "marker.hpp"
#include "path.hpp"
#include "settings.hpp"

// In this file, since every program that calls CUDA links it.
CUSHIM_MARK(cushim_core_mark, cushim::make_marker(cushim::marker_core));

namespace cushim {

namespace {

bool looks_in(unsigned int place) {
    return (settings().search & place) != 0;
}

const char *variable(const char *name) {
    return looks_in(CUSHIM_SEARCH_ENVIRONMENT) ? platform::environment(name) : nullptr;
}

/* The path that was chosen for a library, by the user or the program; nullptr: none. */
const char *chosen_path(const Library &library) {
    const char *path = variable(library.description->variable);
    return path != nullptr ? path : path_in_settings(library);
}

/* Tries the library's file names by preference. */
template <class Attempt>
bool try_names(const Search &search, Attempt attempt) {
    const char *const *name = search.library.description->file_names;
    while (*name != nullptr && !attempt(*name)) {
        ++name;
    }
    return *name != nullptr;
}

bool try_folder(Search &search, const char *folder) {
    return try_names(search,
                     [&](const char *name) { return try_path_if_there(search, folder, name); });
}

/* Tries these folders, which are below `root`. */
bool try_below(Search &search, const char *root, const char *const *folders) {
    for (; *folders != nullptr; ++folders) {
        const Path folder(root, *folders);
        if (folder && try_folder(search, folder.chars)) {
            return true;
        }
    }
    return false;
}

struct Listing {
    Search *search;
    const char *parent;
    bool (*attempt)(Search &search, const char *folder);
};

/* Tries all folders in `parent` whose name begins so, until the library is found. */
bool try_listed(Search &search, const char *parent, const char *beginning,
                bool (*attempt)(Search &search, const char *folder)) {
    Listing listing = {&search, parent, attempt};
    platform::list_folder(
        parent, beginning,
        [](const char *name, void *user) {
            const Listing &all = *static_cast<Listing *>(user);
            const Path folder(all.parent, name);
            if (all.search->module == nullptr && folder) {
                all.attempt(*all.search, folder.chars);
            }
        },
        &listing);
    return search.module != nullptr;
}

/* The folder of a file, on the heap; empty if the path has none. */
Path folder_of(const char *file) {
    char *folder = copy_text(file);
    if (folder != nullptr) {
        size_t end = strlen(folder);
        while (end > 0 && !platform::is_separator(folder[end - 1])) {
            --end;
        }
        folder[end] = '\0';
    }
    return Path(folder);
}

/* --- the places --- */

/* The path that was chosen for the driver when it was searched for, or nullptr. */
const char *path_of_chosen_driver() {
    const LoadedLibrary *driver = current_record(driver_library);
    if (driver == nullptr && chosen_path(driver_library) != nullptr) {
        driver = ensure_loaded(driver_library); // by its path, the folder is known
    }
    if (driver == nullptr || !driver->chosen) {
        return nullptr;
    }
    if (driver->report.path != nullptr) {
        return driver->report.path;
    }
    return driver->report.candidate_count > 0 ? driver->report.candidates[0].path : "";
}

void search_beside(Search &search, const char *driver) {
    search.chosen = search.beside = true;
    const Path folder = folder_of(driver);
    if (!folder) { // a bare name that was not found has no folder
        return;
    }
    try_names(search, [&](const char *name) {
        const Path beside(folder.chars, name);
        return beside && try_path(search, beside.chars);
    });
}

bool search_driver_folders(Search &search) {
    if (!looks_in(CUSHIM_SEARCH_KNOWN_PLACES)) {
        return false;
    }
    const LoadedLibrary *driver = current_record(driver_library);
    if (is_used(driver) && driver->report.path != nullptr) {
        const Path folder = folder_of(driver->report.path);
        if (folder && try_folder(search, folder.chars)) {
            return true;
        }
    }
    for (const char *const *folder = platform::known_driver_folders; *folder != nullptr; ++folder) {
        if (try_folder(search, *folder)) {
            return true;
        }
    }
    return false;
}

bool search_toolkit(Search &search, const char *root) {
    return try_below(search, root, platform::toolkit_folders);
}

/* /usr/local/cuda, /usr/local/cuda-13.0, ... */
bool search_installed_toolkits(Search &search) {
    if (platform::toolkit_parent == nullptr || !looks_in(CUSHIM_SEARCH_KNOWN_PLACES)) {
        return false;
    }
    const Path preferred(platform::toolkit_parent, "cuda");
    return (preferred && search_toolkit(search, preferred.chars)) ||
           try_listed(search, platform::toolkit_parent, "cuda", search_toolkit);
}

bool search_toolkits(Search &search) {
    constexpr const char *roots[] = {"CUDA_PATH", "CUDA_HOME"};
    for (const char *name : roots) {
        const char *root = variable(name);
        if (root != nullptr && search_toolkit(search, root)) {
            return true;
        }
    }
    return search_installed_toolkits(search);
}

/* The packages in the folder of one Python version. */
bool search_packages(Search &search, const char *python) {
    const char *const *folders = search.library.description->package_folders;
    const Path packages(python, "site-packages");
    return packages && folders != nullptr && try_below(search, packages.chars, folders);
}

/* The packages of a Python environment: <root>/lib/python3.11/site-packages/nvidia/... */
bool search_python(Search &search, const char *root) {
    const Path parent(root, platform::python_folder);
    return parent && (search_packages(search, parent.chars) || // Windows has no python3.11 folder
                      try_listed(search, parent.chars, "python3", search_packages));
}

bool search_environments(Search &search) {
    const char *conda = variable("CONDA_PREFIX");
    if (conda != nullptr &&
        (try_below(search, conda, platform::environment_folders) || search_python(search, conda))) {
        return true;
    }
    const char *python = variable("VIRTUAL_ENV");
    return python != nullptr && search_python(search, python);
}

bool search_program_folder(Search &search) {
    const Path program(looks_in(CUSHIM_SEARCH_KNOWN_PLACES) ? platform::path_of_program()
                                                            : nullptr);
    const Path folder(program ? folder_of(program.chars) : Path(nullptr));
    return folder && try_folder(search, folder.chars);
}

/* The places of descriptions, in the order of the search. */
constexpr struct {
    unsigned int place;
    bool (*search)(Search &search);
} folder_searches[] = {
    {CUSHIM_PLACE_DRIVER, search_driver_folders},
    {CUSHIM_PLACE_TOOLKIT, search_toolkits},
    {CUSHIM_PLACE_PACKAGES, search_environments},
    {CUSHIM_PLACE_PROGRAM, search_program_folder},
};

void search_places(Search &search) {
    const unsigned int places = search.library.description->places;
    if (const char *path = chosen_path(search.library)) {
        try_chosen(search, path);
        return;
    }
    const bool may_be_beside =
        (places & CUSHIM_PLACE_BESIDE_DRIVER) != 0 && search.file_name()[0] != '\0';
    const char *driver = may_be_beside ? path_of_chosen_driver() : nullptr;
    if (driver != nullptr) {
        search_beside(search, driver);
        return;
    }
    if (looks_in(CUSHIM_SEARCH_ALREADY_LOADED) &&
        try_names(search, [&](const char *name) { return try_already_loaded(search, name); })) {
        return;
    }
    if (looks_in(CUSHIM_SEARCH_SYSTEM) &&
        try_names(search, [&](const char *name) { return try_default_search(search, name); })) {
        return;
    }
    for (const auto &folders : folder_searches) {
        if ((places & folders.place) != 0 && folders.search(search)) {
            return;
        }
    }
}

bool disabled() {
    const char *value = variable("CUSHIM_DISABLE");
    return value != nullptr && strcmp(value, "0") != 0;
}

/* Whether only variables may choose the library, and none does. Then nothing is searched. */
bool switched_off(const Search &search) {
    const bool in_environment =
        (search.library.description->places & (CUSHIM_PLACE_TOOLKIT | CUSHIM_PLACE_PACKAGES)) != 0;
    const unsigned int places = CUSHIM_SEARCH_ALREADY_LOADED | CUSHIM_SEARCH_SYSTEM |
                                CUSHIM_SEARCH_KNOWN_PLACES |
                                (in_environment ? unsigned{CUSHIM_SEARCH_ENVIRONMENT} : 0u);
    return !search.chosen && !looks_in(places);
}

/* --- the record --- */

/* Without a driver, all calls of a libcudart fail, and some of its results are undefined where
 * cushim's are not: the number of devices, and which last error is returned. So it is not used,
 * unless its own path was chosen. `has_driver`: at the start of the search. */
bool lacks_driver(const Search &search, bool has_driver) {
    const cushim_special *special = search.library.special;
    const bool chosen_by_path = search.chosen && !search.beside;
    return special != nullptr && special->needs_driver && search.module != nullptr && !has_driver &&
           !chosen_by_path;
}

LoadedLibrary *record_of(Search &search, bool is_disabled) {
    LoadedLibrary *record = static_cast<LoadedLibrary *>(calloc(1, sizeof(LoadedLibrary)));
    if (record == nullptr) {
        search.candidates.free_all();
        return nullptr;
    }
    record->module = search.module;
    record->chosen = search.chosen;
    cushim_report &report = record->report;
    report.candidate_count = search.candidates.count;
    report.candidates = search.candidates.list;
    if (search.module != nullptr) {
        const Path path(platform::path_of_module(search.module));
        report.state = CUSHIM_STATE_LOADED;
        report.path = copy_text(path ? path.chars : search.file_name());
        report.version = search.version;
    } else {
        report.state = CUSHIM_STATE_ABSENT;
    }
    record->hint = explain(report, {search.library, is_disabled, search.chosen, search.beside,
                                    switched_off(search), looks_in(CUSHIM_SEARCH_ENVIRONMENT)});
    return record;
}

} // namespace

LoadedLibrary *search(Library &library) {
    Search search = {library};
    const bool is_disabled = disabled();
    const bool has_driver = is_used(current_record(driver_library));
    if (!is_disabled) {
        search_places(search);
    }
    LoadedLibrary *record = record_of(search, is_disabled);
    if (record != nullptr) {
        record->lacks_driver = lacks_driver(search, has_driver);
    }
    return record;
}

void discard(LoadedLibrary *record) {
    Candidates candidates = {const_cast<cushim_candidate *>(record->report.candidates),
                             record->report.candidate_count, 0};
    candidates.free_all();
    free(const_cast<char *>(record->report.path));
    if (record->report.explanation != out_of_memory) {
        free(const_cast<char *>(record->report.explanation));
    }
    free(record->hint);
    free(record);
}

} // namespace cushim
