#include "attempt.hpp"

#include <stdio.h>

#include "path.hpp"
#include "resolve.hpp"

namespace cushim {

namespace {

using VersionQuery = int(CUSHIM_CUDA_CALL *)(int *);

/* --- checks of a library --- */

/* 0 and the version; or the status that the library returns; or -1 if it lacks the function. */
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

cushim_outcome judge(const Search &search, platform::Module module, int &version,
                     platform::Text &detail) {
    // Asking it for its version would call back into this code, without end.
    if (platform::contains_own_code(module)) {
        snprintf(detail.chars, sizeof detail.chars, "it contains this loader itself");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    return search.driver() ? judge_driver(module, version, detail)
                           : judge_runtime(module, version, detail);
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

/* Takes an opened library if it is suitable, and closes it otherwise. */
bool take(Search &search, const char *path, platform::Module module, const char *how) {
    platform::Text detail;
    int version = 0;
    const cushim_outcome outcome = judge(search, module, version, detail);
    if (outcome != CUSHIM_OUTCOME_LOADED) {
        // A bare name does not identify the file.
        const Path where(has_folder(path) ? nullptr : platform::path_of_module(module));
        search.candidates.add(where ? where.chars : path, outcome, detail.chars);
        platform::close_library(module);
        return false;
    }
    search.candidates.add(path, outcome, how);
    search.module = module;
    search.version = version;
    return true;
}

/* Searches for a file in the folders of the system search. */
struct InSearchPath {
    Search *search;
    const char *name;
    bool damaged;
};

/* Whether the first library that the system's search would find is damaged. Its file is checked,
 * since loading it could crash the process. */
bool damaged_comes_first(const char *name) {
    InSearchPath first = {nullptr, name, false};
    platform::visit_search_path(
        [](const char *folder, void *user) {
            InSearchPath &looking = *static_cast<InSearchPath *>(user);
            const Path path(folder, looking.name);
            platform::Text detail;
            const platform::FileKind kind =
                path ? platform::inspect_file(path.chars, detail) : platform::FileKind::missing;
            looking.damaged = kind == platform::FileKind::truncated;
            return looking.damaged || kind == platform::FileKind::library;
        },
        &first);
    return first.damaged;
}

/* Tries the folders one by one, after the system's search has found an unsuitable library. */
bool try_search_path(Search &search, const char *name) {
    InSearchPath all = {&search, name, false};
    return platform::visit_search_path(
        [](const char *folder, void *user) {
            const InSearchPath &looking = *static_cast<InSearchPath *>(user);
            return try_path_if_there(*looking.search, folder, looking.name);
        },
        &all);
}

/* Tries only the library that the system's search finds. */
bool try_system_search(Search &search, const char *name) {
    platform::OpenError error;
    platform::Module module = platform::open_library(name, platform::OpenMode::load, error);
    if (module != nullptr)
        return take(search, name, module, "in use");
    search.candidates.add(name, error.missing ? CUSHIM_OUTCOME_NOT_FOUND : CUSHIM_OUTCOME_REFUSED,
                          error.message.chars);
    return false;
}

} // namespace

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
    if (module != nullptr)
        return take(search, path, module, "in use");
    search.candidates.add(path, CUSHIM_OUTCOME_REFUSED, error.message.chars);
    return false;
}

bool try_path_if_there(Search &search, const char *folder, const char *name) {
    const Path path(folder, name);
    platform::Text detail;
    return path && platform::inspect_file(path.chars, detail) != platform::FileKind::missing &&
           try_path(search, path.chars);
}

bool try_already_loaded(Search &search, const char *name) {
    platform::OpenError error;
    platform::Module module =
        platform::open_library(name, platform::OpenMode::already_loaded, error);
    return module != nullptr &&
           take(search, name, module, "in use: the process had already loaded it");
}

bool try_default_search(Search &search, const char *name) {
    return (!damaged_comes_first(name) && try_system_search(search, name)) ||
           try_search_path(search, name);
}

bool try_chosen(Search &search, const char *path) {
    search.chosen = true;
    if (has_folder(path))
        return try_path(search, path);
    return damaged_comes_first(path) ? try_search_path(search, path)
                                     : try_system_search(search, path);
}

} // namespace cushim
