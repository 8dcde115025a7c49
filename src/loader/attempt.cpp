#include "attempt.hpp"

#include <stdio.h>
#include <string.h>

#include "path.hpp"

namespace cushim {

namespace {

/* --- checks of a library --- */

template <class... Parameters>
using VersionQuery = int(CUSHIM_CUDA_CALL *)(Parameters...);

constexpr int packed(int major, int minor) {
    return major * 1000 + minor * 10;
}

/* 0 and the version, packed as CUDA packs its own; or the status that the library returns; or -1 if
 * it lacks the function. */
int ask_version(platform::Module module, const cushim_library_description &library, int &version) {
    version = 0;
    if (library.version_kind == CUSHIM_VERSION_NONE) {
        return -1;
    }
    void *function = platform::find_symbol(module, library.version_function);
    if (function == nullptr) {
        return -1;
    }
    int status = 0, major = 0, minor = 0;
    switch (library.version_kind) {
    case CUSHIM_VERSION_MAJOR_MINOR:
        status = reinterpret_cast<VersionQuery<int *, int *>>(function)(&major, &minor);
        version = packed(major, minor);
        return status;
    case CUSHIM_VERSION_PROPERTY: {
        const auto property = reinterpret_cast<VersionQuery<int, int *>>(function);
        status = property(0, &major);
        if (status == 0) {
            status = property(1, &minor);
        }
        version = packed(major, minor);
        return status;
    }
    case CUSHIM_VERSION_WRITTEN:
        status = reinterpret_cast<VersionQuery<int *>>(function)(&version);
        break;
    case CUSHIM_VERSION_RETURNED:
        version = static_cast<int>(reinterpret_cast<size_t(CUSHIM_CUDA_CALL *)()>(function)());
        break;
    default: // of a newer description
        return -1;
    }
    if (library.version_major_unit != 0) {
        version = packed(version / library.version_major_unit,
                         version % library.version_major_unit / library.version_minor_unit);
    }
    return status;
}

cushim_outcome judge_by_name(const cushim_library_description &library, platform::Module module,
                             platform::Text &detail) {
    if (platform::find_symbol(module, library.required) != nullptr) {
        return CUSHIM_OUTCOME_LOADED;
    }
    snprintf(detail.chars, sizeof detail.chars, "not %s: it has no %s", library.title,
             library.required);
    return CUSHIM_OUTCOME_NOT_CUDA;
}

cushim_outcome judge(const Library &library, platform::Module module, int &version,
                     platform::Text &detail) {
    // Asking it for its version would call back into this code, without end.
    if (platform::contains_own_code(module)) {
        snprintf(detail.chars, sizeof detail.chars, "it contains this loader itself");
        return CUSHIM_OUTCOME_NOT_CUDA;
    }
    const cushim_library_description &wanted = *library.description;
    const int status = ask_version(module, wanted, version);
    const cushim_outcome outcome = library.special != nullptr
                                       ? library.special->judge(module, status, detail)
                                       : judge_by_name(wanted, module, detail);
    if (outcome != CUSHIM_OUTCOME_LOADED) {
        return outcome;
    }
    if (status != 0) {
        version = 0;
    }
    if (wanted.major != 0 && version != 0 && version / 1000 != wanted.major) {
        snprintf(detail.chars, sizeof detail.chars,
                 "%s %d.%d, but this program was built for major version %d", wanted.title,
                 version / 1000, version % 1000 / 10, wanted.major);
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

/* Takes an opened library if it is suitable, and closes it otherwise. */
bool take(Search &search, const char *path, platform::Module module, const char *how) {
    platform::Text detail;
    int version = 0;
    const cushim_outcome outcome = judge(search.library, module, version, detail);
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

/* Whether this is a name of a library that the driver brings. */
bool is_of_system(const Library &library, const char *name) {
    if ((library.description->places & CUSHIM_PLACE_DRIVER) == 0) {
        return false;
    }
    const char *const *own = library.description->file_names;
    while (*own != nullptr && strcmp(*own, name) != 0) {
        ++own;
    }
    return *own != nullptr;
}

/* Tries only the library that the system's search finds. */
bool try_system_search(Search &search, const char *name) {
    platform::OpenError error;
    platform::Module module = platform::open_library(
        name,
        is_of_system(search.library, name) ? platform::OpenMode::system : platform::OpenMode::load,
        error);
    if (module != nullptr) {
        return take(search, name, module, "in use");
    }
    search.candidates.add(name, error.missing ? CUSHIM_OUTCOME_NOT_FOUND : CUSHIM_OUTCOME_REFUSED,
                          error.message.chars);
    return false;
}

} // namespace

bool try_path(Search &search, const char *path) {
    if (search.candidates.has(path)) {
        return false;
    }
    platform::Text detail;
    const platform::FileKind kind = platform::inspect_file(path, detail);
    if (kind != platform::FileKind::library) {
        search.candidates.add(path, outcome_of(kind), detail.chars);
        return false;
    }
    platform::OpenError error;
    platform::Module module = platform::open_library(path, platform::OpenMode::load, error);
    if (module != nullptr) {
        return take(search, path, module, "in use");
    }
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
    if (has_folder(path)) {
        return try_path(search, path);
    }
    return damaged_comes_first(path) ? try_search_path(search, path)
                                     : try_system_search(search, path);
}

} // namespace cushim
