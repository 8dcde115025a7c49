#include "audit.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <map>
#include <optional>

#include "definers.hpp"
#include "dependencies.hpp"
#include "static_runtime.hpp"
#include "windows_names.hpp"

namespace cushim_info {
namespace {

namespace fs = std::filesystem;

using Dependencies = std::vector<Dependency>;

// Files whose links the user can change: the audited file, and its libraries that are not CUDA's.
bool is_own(const Dependencies &all, std::size_t index) {
    return index == 0 || all[index].kind == LibraryKind::other;
}

// A CUDA library that another CUDA library needs is reported only if cushim replaces it.
bool is_told(const Dependencies &all, std::size_t linked_by, LibraryKind kind) {
    return is_own(all, linked_by) ? kind != LibraryKind::other
                                  : kind == LibraryKind::driver || kind == LibraryKind::runtime;
}

// A DLL is only linked if it is used; function names of toolkit libraries are unknown here.
bool uses_kind(const Binary &binary, LibraryKind kind) {
    if (binary.architecture.format == Format::pe || kind == LibraryKind::toolkit) {
        return true;
    }
    return std::any_of(binary.imports.begin(), binary.imports.end(),
                       [kind](const Import &import) { return function_kind(import.name) == kind; });
}

void add_chains(Audit &audit, const Dependencies &all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::vector<std::string> way = chain_to(all, i);
        const auto chain = [&](const std::string &library, LibraryKind kind) {
            Chain next{way, kind, uses_kind(all[i].loaded->binary, kind)};
            next.names.push_back(library);
            return next;
        };
        for (const std::size_t needed : all[i].needs) {
            if (is_told(all, i, all[needed].kind)) {
                audit.needed.push_back(chain(all[needed].name, all[needed].kind));
            }
        }
        if (!all[i].loaded || !is_own(all, i)) {
            continue;
        }
        for (const std::string &library : all[i].loaded->binary.delayed) {
            if (const LibraryKind kind = library_kind(library); kind != LibraryKind::other) {
                audit.delayed.push_back(chain(library, kind));
            }
        }
    }
}

template <typename Condition>
const Dependency *missing_library(const Dependencies &all, Condition condition) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Dependency &dependency) {
        return !dependency.loaded && condition(dependency);
    });
    return found != all.end() ? &*found : nullptr;
}

// The missing library that an import expects: the one that had the requested version; without a
// version, a CUDA library by its name, preferably one that the file links itself.
std::string expected_in(const Dependencies &all, const Dependency &file, const Import &import) {
    const Dependency *library = missing_library(
        all, [&](const Dependency &missing) { return missing.name == import.version_of; });
    const auto is_of_kind = [kind = function_kind(import.name)](const Dependency &missing) {
        return missing.kind == kind;
    };
    if (library == nullptr) {
        for (const std::size_t needed : file.needs) {
            if (!all[needed].loaded && is_of_kind(all[needed])) {
                return all[needed].name;
            }
        }
        library = missing_library(all, is_of_kind);
    }
    return library != nullptr ? library->name : "";
}

std::string library_of(const Dependencies &all, const Definers &definers, const Dependency &file,
                       const Import &import) {
    if (!import.library.empty()) {
        return import.library;
    }
    const std::optional<std::size_t> definer = definers.of(import);
    return definer ? all[*definer].name : expected_in(all, file, import);
}

void add_uses(Audit &audit, const Dependencies &all) {
    const Definers definers(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].loaded || !is_own(all, i)) {
            continue;
        }
        std::map<std::string, Use> by_library;
        for (const Import &import : all[i].loaded->binary.imports) {
            const std::string library = library_of(all, definers, all[i], import);
            Use &use = by_library.try_emplace(library, Use{all[i].name, library, false, true, {}})
                           .first->second;
            use.at_start = use.at_start || (import.at_start && !import.optional);
            use.is_optional = use.is_optional && import.optional;
            use.functions.push_back(import.name);
        }
        for (auto &[library, use] : by_library) {
            std::vector<std::string> &names = use.functions;
            std::sort(names.begin(), names.end()); // a name may occur in several versions
            names.erase(std::unique(names.begin(), names.end()), names.end());
            audit.uses.push_back(std::move(use));
        }
    }
}

void add_parts(Audit &audit, const Dependencies &all) {
    for (const Dependency &dependency : all) {
        if (!dependency.loaded || dependency.loaded->binary.marks.empty()) {
            continue;
        }
        Part part;
        part.file = dependency.name;
        for (const Mark &mark : dependency.loaded->binary.marks) {
            if (mark.type == mark_library) {
                part.libraries.push_back(mark.text);
                continue;
            }
            part.has_dropin = part.has_dropin || mark.type == mark_dropin;
            const std::size_t space = mark.text.find(' ');
            if (part.cushim.empty() && space != std::string::npos) {
                part.cushim = mark.text.substr(0, space);
                std::from_chars(mark.text.data() + space + 1, mark.text.data() + mark.text.size(),
                                part.headers);
            }
        }
        audit.parts.push_back(std::move(part));
    }
}

void add_not_found(Audit &audit, const Dependencies &all) {
    const bool is_pe = audit.architecture.format == Format::pe;
    for (const Dependency &dependency : all) {
        if (dependency.loaded || dependency.kind != LibraryKind::other) {
            continue;
        }
        if (is_pe && is_of_windows(dependency.name)) {
            audit.of_windows.push_back(dependency.name);
        } else {
            audit.not_found.push_back(
                {dependency.name, all[dependency.needed_by].name, dependency.problem});
        }
    }
}

// CUDA code inside the file.
void add_contents(Audit &audit, const Dependency &file) {
    if (file.kind != LibraryKind::other) {
        return;
    }
    Source source(file.loaded->path);
    audit.static_runtime = signs_of_static_runtime(source);
    const auto own_part = std::find_if(audit.parts.begin(), audit.parts.end(), [&](const Part &p) {
        return p.file == file.name && p.has_dropin;
    });
    if (own_part == audit.parts.end() && audit.static_runtime.empty()) {
        audit.own = file.loaded->binary.contained;
    }
}

// A program ends at start-up if a function that is required then is defined nowhere. For a library,
// the functions of the program that loads it are unknown.
bool lacks_functions(const Audit &audit) {
    return audit.is_program && audit.not_found.empty() &&
           std::any_of(audit.uses.begin(), audit.uses.end(),
                       [](const Use &use) { return use.library.empty() && use.at_start; });
}

void audit_into(Audit &audit, const fs::path &file, const LibrarySearch &search) {
    const Dependencies all = find_dependencies(file, search);
    const Binary &binary = all.front().loaded->binary;
    audit.architecture = binary.architecture;
    audit.is_program = binary.is_program;
    add_chains(audit, all);
    add_uses(audit, all);
    add_parts(audit, all);
    add_not_found(audit, all);
    add_contents(audit, all.front());
    audit.needs_cuda = !audit.needed.empty() || lacks_functions(audit);
    audit.advice = advice_for(audit);
}

} // namespace

Audit audit_file(const fs::path &file, const LibrarySearch &search) {
    Audit audit;
    audit.path = file.string();
    try {
        audit_into(audit, file, search);
    } catch (const std::exception &error) { // also out of memory, or a folder that cannot be read
        audit = {};
        audit.path = file.string();
        audit.problem = error.what();
    }
    return audit;
}

int exit_status(const std::vector<Audit> &audits) {
    int status = 0;
    for (const Audit &audit : audits) {
        status = std::max(status, !audit.problem.empty() ? 2 : audit.needs_cuda ? 1 : 0);
    }
    return status;
}

} // namespace cushim_info
