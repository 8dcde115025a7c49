/* Searches for the two libraries in the documented order (README.md), and records what it finds.
 *
 * Driver: the chosen path (CUSHIM_DRIVER, or the settings); a copy that the process has already
 * loaded; the system's default search; then known driver folders. Runtime: likewise, with the
 * folders of toolkits and Python environments, and always by the file name of the headers' major
 * version, since struct layouts differ between major versions. If a chosen path cannot be used, the
 * search ends: a silent replacement would be surprising.
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
CUSHIM_MARK(cushim_core_mark, cushim::marker_core);

namespace cushim {

namespace {

bool looks_in(unsigned int place) {
    return (settings().search & place) != 0;
}

const char *variable(const char *name) {
    return looks_in(CUSHIM_SEARCH_ENVIRONMENT) ? platform::environment(name) : nullptr;
}

/* --- the two searches --- */

const char *chosen_driver() {
    const char *path = variable("CUSHIM_DRIVER");
    return path != nullptr ? path : settings().driver_path;
}

const char *chosen_runtime() {
    const char *path = variable("CUSHIM_RUNTIME");
    return path != nullptr ? path : settings().runtime_path;
}

bool search_known_driver_folders(Search &search) {
    for (const char *const *folder = platform::known_driver_folders; *folder != nullptr; ++folder)
        if (try_path_if_there(search, *folder, platform::driver_name))
            return true;
    return false;
}

void search_driver(Search &search) {
    if (const char *path = chosen_driver()) {
        try_chosen(search, path);
        return;
    }
    const char *name = platform::driver_name;
    if (looks_in(CUSHIM_SEARCH_ALREADY_LOADED) && try_already_loaded(search, name))
        return;
    if (looks_in(CUSHIM_SEARCH_SYSTEM) && try_default_search(search, name))
        return;
    if (looks_in(CUSHIM_SEARCH_KNOWN_PLACES))
        search_known_driver_folders(search);
}

bool search_below(Search &search, const char *root, const char *const *folders) {
    for (; *folders != nullptr; ++folders) {
        const Path folder(root, *folders);
        if (folder && try_path_if_there(search, folder.chars, platform::runtime_name))
            return true;
    }
    return false;
}

/* The root of a toolkit that a variable names. */
bool search_toolkit(Search &search, const char *variable_name) {
    const char *root = variable(variable_name);
    return root != nullptr && search_below(search, root, platform::toolkit_folders);
}

struct Listing {
    Search *search;
    const char *parent;
};

/* /usr/local/cuda, /usr/local/cuda-13.0, ...: all that contain a runtime of our major version. */
bool search_installed_toolkits(Search &search) {
    if (platform::toolkit_parent == nullptr || !looks_in(CUSHIM_SEARCH_KNOWN_PLACES))
        return false;
    const Path preferred(platform::toolkit_parent, "cuda");
    if (preferred && search_below(search, preferred.chars, platform::toolkit_folders))
        return true;
    Listing listing = {&search, platform::toolkit_parent};
    platform::list_folder(
        platform::toolkit_parent, "cuda",
        [](const char *name, void *user) {
            const Listing &all = *static_cast<Listing *>(user);
            const Path root(all.parent, name);
            if (all.search->module == nullptr && root)
                search_below(*all.search, root.chars, platform::toolkit_folders);
        },
        &listing);
    return search.module != nullptr;
}

/* The packages in the folder of one Python version. */
bool search_packages(Search &search, const char *python) {
    const Path packages(python, "site-packages");
    return packages && search_below(search, packages.chars, platform::package_folders);
}

/* The packages of a Python environment: <root>/lib/python3.11/site-packages/nvidia/... */
bool search_python(Search &search, const char *root) {
    const Path parent(root, platform::python_folder);
    if (!parent)
        return false;
    if (search_packages(search,
                        parent.chars)) // Windows has no python3.11 folder in between
        return true;
    Listing listing = {&search, parent.chars};
    platform::list_folder(
        parent.chars, "python3",
        [](const char *name, void *user) {
            const Listing &all = *static_cast<Listing *>(user);
            const Path python(all.parent, name);
            if (all.search->module == nullptr && python)
                search_packages(*all.search, python.chars);
        },
        &listing);
    return search.module != nullptr;
}

bool search_environments(Search &search) {
    const char *conda = variable("CONDA_PREFIX");
    if (conda != nullptr && (search_below(search, conda, platform::environment_folders) ||
                             search_python(search, conda)))
        return true;
    const char *python = variable("VIRTUAL_ENV");
    return python != nullptr && search_python(search, python);
}

/* The path that was chosen for the driver when it was searched for, or nullptr. */
const char *path_of_chosen_driver() {
    const LoadedLibrary *driver = current_record(CUSHIM_LIBRARY_DRIVER);
    if (driver == nullptr || !driver->chosen)
        return nullptr;
    if (driver->report.path != nullptr)
        return driver->report.path;
    return driver->report.candidate_count > 0 ? driver->report.candidates[0].path : "";
}

/* In the folder of a driver that was chosen by path, and nowhere else: a driver for tests must not
 * be combined with the machine's own runtime. */
void search_beside(Search &search, const char *driver) {
    search.chosen = search.beside = true;
    const Path folder(join_text({driver}));
    if (!folder)
        return;
    size_t end = strlen(folder.chars);
    while (end > 0 && !platform::is_separator(folder.chars[end - 1]))
        --end;
    folder.chars[end] = '\0';
    if (!folder) // a bare name that was not found has no folder
        return;
    const Path beside(folder.chars, platform::runtime_name);
    if (beside)
        try_path(search, beside.chars);
}

void search_runtime(Search &search) {
    if (const char *path = chosen_runtime()) {
        try_chosen(search, path);
        return;
    }
    if (const char *driver = path_of_chosen_driver()) {
        search_beside(search, driver);
        return;
    }
    const char *name = platform::runtime_name;
    if (looks_in(CUSHIM_SEARCH_ALREADY_LOADED) && try_already_loaded(search, name))
        return;
    if (looks_in(CUSHIM_SEARCH_SYSTEM) && try_default_search(search, name))
        return;
    if (search_toolkit(search, "CUDA_PATH") || search_toolkit(search, "CUDA_HOME") ||
        search_installed_toolkits(search))
        return;
    search_environments(search);
}

bool disabled() {
    const char *value = variable("CUSHIM_DISABLE");
    return value != nullptr && strcmp(value, "0") != 0;
}

/* Whether only variables may choose the driver, and none does. Then nothing is searched. */
bool switched_off(const Search &search) {
    const unsigned int places = CUSHIM_SEARCH_ALREADY_LOADED | CUSHIM_SEARCH_SYSTEM |
                                CUSHIM_SEARCH_KNOWN_PLACES |
                                (search.driver() ? 0u : unsigned{CUSHIM_SEARCH_ENVIRONMENT});
    return !search.chosen && !looks_in(places);
}

/* --- the record --- */

/* Without a driver, all calls of a libcudart fail, and some of its results are undefined where
 * cushim's are not: the number of devices, and which last error is returned. So it is not used,
 * unless its own path was chosen. `has_driver`: at the start of the search. */
bool lacks_driver(const Search &search, bool has_driver) {
    const bool chosen_by_path = search.chosen && !search.beside;
    return !search.driver() && search.module != nullptr && !has_driver && !chosen_by_path;
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
    explain(report, {search.library, is_disabled, search.chosen, search.beside,
                     switched_off(search), looks_in(CUSHIM_SEARCH_ENVIRONMENT)});
    return record;
}

} // namespace

LoadedLibrary *search(cushim_library library) {
    Search search = {};
    search.library = library;
    const bool is_disabled = disabled();
    const bool has_driver = is_used(current_record(CUSHIM_LIBRARY_DRIVER));
    if (!is_disabled)
        library == CUSHIM_LIBRARY_DRIVER ? search_driver(search) : search_runtime(search);
    LoadedLibrary *record = record_of(search, is_disabled);
    if (record != nullptr)
        record->lacks_driver = lacks_driver(search, has_driver);
    return record;
}

void discard(LoadedLibrary *record) {
    Candidates candidates = {const_cast<cushim_candidate *>(record->report.candidates),
                             record->report.candidate_count, 0};
    candidates.free_all();
    free(const_cast<char *>(record->report.path));
    if (record->report.explanation != out_of_memory)
        free(const_cast<char *>(record->report.explanation));
    free(record);
}

} // namespace cushim
