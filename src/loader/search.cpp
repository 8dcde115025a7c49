/* Looks for the two libraries, in the order that DESIGN fixes, and writes down what it met.
 *
 * Driver: the chosen path (CUSHIM_DRIVER, or the settings); a copy that the process has already;
 * the system's default search; then the places where drivers are known to be. Runtime: likewise,
 * with the toolkits' and Python environments' folders, and always by the file name of exactly the
 * headers' major version, since struct layouts differ between majors. A chosen path that cannot be
 * used ends the search: something else in its place would be a silent surprise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.hpp"
#include "explain.hpp"
#include "loaded_library.hpp"
#include "resolve.hpp"
#include "settings.hpp"

namespace cushim {

namespace {

#if defined(_WIN32)
using VersionQuery = int(__stdcall *)(int *);
#else
using VersionQuery = int (*)(int *);
#endif

struct Path {
    char chars[4096];
};

/* One search under way. */
struct Search {
    cushim_library library;
    Candidates candidates = {nullptr, 0, 0};
    platform::Module module = nullptr; // what was found
    int version = 0;
    bool chosen = false; // a path was chosen: nothing else is tried
    bool beside = false; // it follows from the path that was chosen for the driver

    bool driver() const { return library == CUSHIM_LIBRARY_DRIVER; }
    const char *file_name() const {
        return driver() ? platform::driver_name : platform::runtime_name;
    }
};

bool join(Path &path, const char *folder, const char *name) {
    const size_t length = strlen(folder);
    const bool separated = length > 0 && platform::is_separator(folder[length - 1]);
    const size_t rest = strlen(name) + 1;
    if (length + 1 + rest > sizeof path.chars)
        return false;
    memcpy(path.chars, folder, length);
    if (!separated)
        path.chars[length] = '/';
    memcpy(path.chars + length + (separated ? 0 : 1), name, rest);
    return true;
}

bool has_folder(const char *path) {
    for (; *path != '\0'; ++path)
        if (platform::is_separator(*path))
            return true;
    return false;
}

bool looks_in(unsigned int place) {
    return (settings().search & place) != 0;
}

const char *variable(const char *name) {
    return looks_in(CUSHIM_SEARCH_ENVIRONMENT) ? platform::environment(name) : nullptr;
}

/* --- is this library what we look for? --- */

/* 0 as status and the version, or the status that the library answers, or -1 without the function. */
int ask_version(platform::Module module, const char *name, int &version) {
    void *function = platform::find_symbol(module, name);
    version = 0;
    return function != nullptr ? reinterpret_cast<VersionQuery>(function)(&version) : -1;
}

cushim_outcome judge_driver(platform::Module module, int &version, platform::Text &detail) {
    const int status = ask_version(module, "cuDriverGetVersion", version);
    if (status == status_stub_library) {
        snprintf(detail.chars, sizeof detail.chars, "the CUDA toolkit's link stub, not a driver");
        return CUSHIM_OUTCOME_LINK_STUB;
    }
    if (platform::find_symbol(module, "cuInit") == nullptr) {
        snprintf(detail.chars, sizeof detail.chars, "not a CUDA driver: it has no cuInit");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    if (status != 0)
        version = 0;
    return CUSHIM_OUTCOME_LOADED;
}

cushim_outcome judge_runtime(platform::Module module, int &version, platform::Text &detail) {
    const int status = ask_version(module, "cudaRuntimeGetVersion", version);
    if (status == -1 && platform::find_symbol(module, "cudaGetDeviceCount") == nullptr) {
        snprintf(detail.chars, sizeof detail.chars,
                 "not a CUDA runtime: it has neither cudaRuntimeGetVersion nor cudaGetDeviceCount");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    if (status != 0)
        version = 0;
    if (version != 0 && version / 1000 != CUSHIM_CUDA_MAJOR) {
        snprintf(detail.chars, sizeof detail.chars,
                 "CUDA runtime %d.%d, but this program was built for major version %d",
                 version / 1000, version % 1000 / 10, CUSHIM_CUDA_MAJOR);
        return CUSHIM_OUTCOME_WRONG_VERSION;
    }
    return CUSHIM_OUTCOME_LOADED;
}

/* --- candidates --- */

cushim_outcome outcome_of(platform::FileKind kind) {
    switch (kind) {
    case platform::FileKind::missing:
        return CUSHIM_OUTCOME_NOT_FOUND;
    case platform::FileKind::folder:
    case platform::FileKind::not_a_library:
        return CUSHIM_OUTCOME_NOT_A_LIBRARY;
    case platform::FileKind::truncated:
        return CUSHIM_OUTCOME_TRUNCATED;
    case platform::FileKind::wrong_architecture:
        return CUSHIM_OUTCOME_WRONG_ARCHITECTURE;
    case platform::FileKind::library:
        break;
    }
    return CUSHIM_OUTCOME_REFUSED;
}

/* Takes an opened library if it is what we look for, and gives it back if not. */
bool take(Search &search, const char *path, platform::Module module, bool already_loaded) {
    platform::Text detail;
    int version = 0;
    const cushim_outcome outcome = search.driver() ? judge_driver(module, version, detail)
                                                   : judge_runtime(module, version, detail);
    if (outcome != CUSHIM_OUTCOME_LOADED) {
        Path where; // a bare file name does not tell which file it was
        platform::path_of_module(module, where.chars, sizeof where.chars);
        search.candidates.add(where.chars[0] != '\0' ? where.chars : path, outcome, detail.chars);
        platform::close_library(module);
        return false;
    }
    search.candidates.add(path, outcome,
                          already_loaded ? "in use: the process had it loaded already" : "in use");
    search.module = module;
    search.version = version;
    return true;
}

/* A library by its path. The file is looked at first: a truncated one would end the process. */
bool try_path(Search &search, const char *path) {
    if (search.candidates.has(path))
        return false;
    platform::Text detail;
    const platform::FileKind kind = platform::inspect_file(path, detail);
    if (kind != platform::FileKind::library) {
        search.candidates.add(path, outcome_of(kind), detail.chars);
        return false;
    }
    platform::OpenError error;
    platform::Module module = platform::open_library(path, platform::OpenMode::load, error);
    if (module == nullptr) {
        search.candidates.add(path, CUSHIM_OUTCOME_REFUSED, error.message.chars);
        return false;
    }
    return take(search, path, module, false);
}

/* Only where the file exists: for folders of which most are not there on any one machine. */
bool try_path_if_there(Search &search, const char *folder, const char *name) {
    Path path;
    platform::Text detail;
    if (!join(path, folder, name) ||
        platform::inspect_file(path.chars, detail) == platform::FileKind::missing)
        return false;
    return try_path(search, path.chars);
}

bool try_already_loaded(Search &search, const char *name) {
    platform::OpenError error;
    platform::Module module =
        platform::open_library(name, platform::OpenMode::already_loaded, error);
    return module != nullptr && take(search, name, module, true);
}

/* A name to look for in the folders that the user put in front of the system's search. */
struct InSearchPath {
    Search *search;
    const char *name;
    bool damaged;
};

/* Whether the library that the system's search would meet first is cut off: it has to be found out by
 * looking, since loading it would end the process. */
bool damaged_comes_first(const char *name) {
    InSearchPath first = {nullptr, name, false};
    platform::visit_search_path(
        [](const char *folder, void *user) {
            InSearchPath &looking = *static_cast<InSearchPath *>(user);
            Path path;
            platform::Text detail;
            if (!join(path, folder, looking.name))
                return false;
            const platform::FileKind kind = platform::inspect_file(path.chars, detail);
            looking.damaged = kind == platform::FileKind::truncated;
            return looking.damaged || kind == platform::FileKind::library;
        },
        &first);
    return first.damaged;
}

/* One by one, where the system's search ended at something that is none of ours. */
bool try_search_path(Search &search, const char *name) {
    InSearchPath all = {&search, name, false};
    return platform::visit_search_path(
        [](const char *folder, void *user) {
            const InSearchPath &looking = *static_cast<InSearchPath *>(user);
            return try_path_if_there(*looking.search, folder, looking.name);
        },
        &all);
}

/* By file name alone: the system's default search. It takes the first that it finds, and so may stop
 * at a link stub with a driver behind it. */
bool try_default_search(Search &search, const char *name) {
    if (!damaged_comes_first(name)) {
        platform::OpenError error;
        platform::Module module = platform::open_library(name, platform::OpenMode::load, error);
        if (module != nullptr && take(search, name, module, false))
            return true;
        if (module == nullptr)
            search.candidates.add(name,
                                  error.missing ? CUSHIM_OUTCOME_NOT_FOUND : CUSHIM_OUTCOME_REFUSED,
                                  error.message.chars);
        if (error.missing)
            return false;
    }
    return try_search_path(search, name);
}

/* The one path that somebody chose, by variable or by settings. A bare file name leaves the folder
 * to the system's search. */
bool try_chosen(Search &search, const char *path) {
    search.chosen = true;
    return has_folder(path) ? try_path(search, path) : try_default_search(search, path);
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
    Path folder;
    for (; *folders != nullptr; ++folders)
        if (join(folder, root, *folders) &&
            try_path_if_there(search, folder.chars, platform::runtime_name))
            return true;
    return false;
}

/* A toolkit's root that a variable names. */
bool search_toolkit(Search &search, const char *variable_name) {
    const char *root = variable(variable_name);
    return root != nullptr && search_below(search, root, platform::toolkit_folders);
}

struct Listing {
    Search *search;
    const char *parent;
};

/* /usr/local/cuda, /usr/local/cuda-13.0, ...: whichever has a runtime of our major version. */
bool search_installed_toolkits(Search &search) {
    if (platform::toolkit_parent == nullptr || !looks_in(CUSHIM_SEARCH_KNOWN_PLACES))
        return false;
    Path preferred;
    if (join(preferred, platform::toolkit_parent, "cuda") &&
        search_below(search, preferred.chars, platform::toolkit_folders))
        return true;
    Listing listing = {&search, platform::toolkit_parent};
    platform::list_folder(
        platform::toolkit_parent, "cuda-",
        [](const char *name, void *user) {
            const Listing &all = *static_cast<Listing *>(user);
            Path root;
            if (all.search->module == nullptr && join(root, all.parent, name))
                search_below(*all.search, root.chars, platform::toolkit_folders);
        },
        &listing);
    return search.module != nullptr;
}

/* The packages of a Python environment: <root>/lib/python3.11/site-packages/nvidia/... */
bool search_python(Search &search, const char *root) {
    for (const char *const *folder = platform::python_folders; *folder != nullptr; ++folder) {
        Path parent;
        if (!join(parent, root, *folder))
            continue;
        Path direct; // Windows has no python3.11 folder in between
        if (join(direct, parent.chars, "site-packages") &&
            search_below(search, direct.chars, platform::package_folders))
            return true;
        Listing listing = {&search, parent.chars};
        platform::list_folder(
            parent.chars, "python3",
            [](const char *name, void *user) {
                const Listing &all = *static_cast<Listing *>(user);
                Path python, packages;
                if (all.search->module == nullptr && join(python, all.parent, name) &&
                    join(packages, python.chars, "site-packages"))
                    search_below(*all.search, packages.chars, platform::package_folders);
            },
            &listing);
        if (search.module != nullptr)
            return true;
    }
    return false;
}

bool search_environments(Search &search) {
    const char *conda = variable("CONDA_PREFIX");
    if (conda != nullptr && (search_below(search, conda, platform::environment_folders) ||
                             search_python(search, conda)))
        return true;
    const char *python = variable("VIRTUAL_ENV");
    return python != nullptr && search_python(search, python);
}

/* Beside the driver that was chosen by path, and nowhere else: a test's driver must not meet the
 * machine's own runtime. */
void search_beside_driver(Search &search) {
    search.chosen = search.beside = true;
    const LoadedLibrary *driver = current_record(CUSHIM_LIBRARY_DRIVER);
    const char *path =
        driver != nullptr && driver->report.path != nullptr ? driver->report.path : chosen_driver();
    Path folder;
    const int written = snprintf(folder.chars, sizeof folder.chars, "%s", path);
    size_t end = written > 0 && static_cast<size_t>(written) < sizeof folder.chars
                     ? static_cast<size_t>(written)
                     : 0;
    while (end > 0 && !platform::is_separator(folder.chars[end - 1]))
        --end;
    folder.chars[end] = '\0';
    Path beside;
    if (join(beside, end > 0 ? folder.chars : ".", platform::runtime_name))
        try_path(search, beside.chars);
}

void search_runtime(Search &search) {
    if (const char *path = chosen_runtime()) {
        try_chosen(search, path);
        return;
    }
    if (chosen_driver() != nullptr) {
        search_beside_driver(search);
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

/* --- the record --- */

LoadedLibrary *record_of(Search &search, bool is_disabled) {
    LoadedLibrary *record = static_cast<LoadedLibrary *>(calloc(1, sizeof(LoadedLibrary)));
    if (record == nullptr) {
        search.candidates.free_all();
        return nullptr;
    }
    record->module = search.module;
    cushim_report &report = record->report;
    report.candidate_count = search.candidates.count;
    report.candidates = search.candidates.list;
    if (search.module != nullptr) {
        Path path;
        platform::path_of_module(search.module, path.chars, sizeof path.chars);
        report.state = CUSHIM_STATE_LOADED;
        report.path = copy_text(path.chars[0] != '\0' ? path.chars : search.file_name());
        report.version = search.version;
    } else {
        report.state = CUSHIM_STATE_ABSENT;
    }
    explain(report, {search.library, is_disabled, search.chosen, search.beside});
    return record;
}

} // namespace

LoadedLibrary *search(cushim_library library) {
    Search search = {};
    search.library = library;
    const bool is_disabled = disabled();
    if (!is_disabled)
        library == CUSHIM_LIBRARY_DRIVER ? search_driver(search) : search_runtime(search);
    return record_of(search, is_disabled);
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
