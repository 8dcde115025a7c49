#include "library_search.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "windows_names.hpp"

namespace cushim_info {
namespace {

namespace fs = std::filesystem;

// Includes of includes; more than that is a circle.
constexpr int most_includes = 8;

// With '*' and '?', as far as files of configuration use them.
bool matches(std::string_view name, std::string_view pattern) {
    if (pattern.empty()) {
        return name.empty();
    }
    if (pattern.front() == '*') {
        return matches(name, pattern.substr(1)) ||
               (!name.empty() && matches(name.substr(1), pattern));
    }
    return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
           matches(name.substr(1), pattern.substr(1));
}

std::string trimmed(const std::string &line) {
    const std::string text = line.substr(0, line.find('#'));
    const std::size_t begin = text.find_first_not_of(" \t\r");
    const std::size_t end = text.find_last_not_of(" \t\r");
    return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// Replaces $name and ${name}; whether there was one.
bool replace_token(std::string &text, const std::string &name, const std::string &value) {
    bool replaced = false;
    for (const std::string &token : {"${" + name + "}", "$" + name}) {
        for (std::size_t at = text.find(token); at != std::string::npos;
             at = text.find(token, at + value.size())) {
            text.replace(at, token.size(), value);
            replaced = true;
        }
    }
    return replaced;
}

} // namespace

LibrarySearch::LibrarySearch(fs::path root) : root_(std::move(root)), lib_names_{"lib64", "lib"} {
    add_configured(root_.below("/etc/ld.so.conf"), 0);
    add_system_folders();
}

// Sorted.
LibrarySearch::Folders LibrarySearch::entries(const fs::path &folder) const {
    Folders entries;
    std::error_code error;
    for (fs::directory_iterator entry(root_.resolved(folder), error), end; !error && entry != end;
         entry.increment(error)) {
        entries.push_back(folder / entry->path().filename());
    }
    std::sort(entries.begin(), entries.end());
    return entries;
}

// Whether it is a library of this architecture. Others are passed over, as the dynamic linker does.
bool LibrarySearch::try_candidate(SearchResult &result, const fs::path &path,
                                  const Architecture &architecture) const {
    std::error_code ignored;
    const fs::path file = root_.resolved(path);
    if (!fs::exists(file, ignored)) {
        return false;
    }
    try {
        Source source(file);
        Binary binary = read_binary(source);
        if (binary.architecture == architecture) {
            result.library = Loaded{path, std::move(binary)};
            return true;
        }
    } catch (const Unreadable &error) {
        if (result.problem.empty()) {
            result.problem = path.string() + ": " + error.what();
        }
    }
    return false;
}

SearchResult LibrarySearch::find_dll(const std::string &name,
                                     const std::vector<const Loaded *> &loaders) const {
    SearchResult result;
    const std::string wanted = lower_case(name);
    for (const fs::path &entry : entries(loaders.back()->path.parent_path())) {
        if (lower_case(entry.filename().string()) == wanted &&
            try_candidate(result, entry, loaders.front()->binary.architecture)) {
            break;
        }
    }
    return result;
}

SearchResult LibrarySearch::find(const std::string &name,
                                 const std::vector<const Loaded *> &loaders) const {
    const Architecture &architecture = loaders.front()->binary.architecture;
    if (architecture.format == Format::pe) {
        return find_dll(name, loaders);
    }
    SearchResult result;
    if (name.find('/') != std::string::npos) {
        Folders paths;
        add_expanded(paths, {name}, *loaders.front());
        for (const fs::path &path : paths) {
            if (try_candidate(result, path, architecture)) {
                break;
            }
        }
        return result;
    }
    for (const fs::path &folder : elf_folders(loaders)) {
        if (try_candidate(result, folder / name, architecture)) {
            break;
        }
    }
    return result;
}

// DT_RPATH counts for all that comes behind, but not where there is a DT_RUNPATH, which counts for
// its own library alone.
LibrarySearch::Folders
LibrarySearch::elf_folders(const std::vector<const Loaded *> &loaders) const {
    Folders written;
    if (loaders.front()->binary.runpath.empty()) {
        for (const Loaded *loader : loaders) {
            if (loader->binary.runpath.empty()) {
                add_expanded(written, loader->binary.rpath, *loader);
            }
        }
    } else {
        add_expanded(written, loaders.front()->binary.runpath, *loaders.front());
    }
    written.insert(written.end(), default_folders_.begin(), default_folders_.end());
    Folders folders;
    for (const fs::path &folder : written) {
        add_with_variants(folders, folder);
    }
    return folders;
}

// Which processor the program is for nobody here knows.
void LibrarySearch::add_with_variants(Folders &to, const fs::path &folder) const {
    const Folders variants = entries(folder / "glibc-hwcaps");
    to.insert(to.end(), variants.rbegin(), variants.rend());
    to.push_back(folder);
}

void LibrarySearch::add_expanded(Folders &to, const std::vector<std::string> &folders,
                                 const Loaded &owner) const {
    for (std::string folder : folders) {
        const bool is_beside = replace_token(folder, "ORIGIN", owner.path.parent_path().string());
        for (const std::string &lib : lib_names_) {
            std::string expanded = folder;
            const bool has_lib = replace_token(expanded, "LIB", lib);
            if (expanded.find('$') == std::string::npos) { // $PLATFORM: nobody here can know it
                to.push_back(is_beside ? fs::path(expanded) : root_.below(expanded));
            }
            if (!has_lib) {
                break;
            }
        }
    }
}

void LibrarySearch::add_configured(const fs::path &file, int depth) {
    std::ifstream lines(root_.resolved(file));
    for (std::string line; std::getline(lines, line);) {
        const std::string text = trimmed(line);
        if (text.starts_with("include ") || text.starts_with("include\t")) {
            if (depth < most_includes) {
                const fs::path pattern = trimmed(text.substr(8));
                add_included(pattern.has_root_directory() ? root_.below(pattern)
                                                          : file.parent_path() / pattern,
                             depth + 1);
            }
        } else if (text.starts_with("/")) {
            default_folders_.push_back(root_.below(text));
        }
    }
}

void LibrarySearch::add_included(const fs::path &pattern, int depth) {
    const std::string name = pattern.filename().string();
    for (const fs::path &entry : entries(pattern.parent_path())) {
        if (matches(entry.filename().string(), name)) {
            add_configured(entry, depth);
        }
    }
}

// Debian keeps the libraries of an architecture in a folder of that name, and those of a cross
// compiler in /usr/aarch64-linux-gnu/lib.
void LibrarySearch::add_system_folders() {
    constexpr std::string_view triplet = "-linux-";
    for (const char *const place : {"lib64", "usr/lib64", "lib", "usr/lib", "lib32", "usr/lib32"}) {
        default_folders_.push_back(root_.below("/") / place);
    }
    for (const char *const place : {"lib", "usr/lib", "usr"}) {
        for (const fs::path &entry : entries(root_.below("/") / place)) {
            const std::string name = entry.filename().string();
            if (name.find(triplet) == std::string::npos) {
                continue;
            }
            default_folders_.push_back(place == std::string_view("usr") ? entry / "lib" : entry);
            if (place == std::string_view("usr/lib")) {
                lib_names_.push_back("lib/" + name);
            }
        }
    }
}

} // namespace cushim_info
