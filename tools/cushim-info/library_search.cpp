#include "library_search.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "windows_names.hpp"

namespace cushim_info {
namespace {

namespace fs = std::filesystem;

// More than any system has; limits the time for malicious ones.
constexpr std::size_t most_configuration_files = 1000, most_configuration_bytes = 1 << 20,
                      most_folders = 4096, most_entries = 1 << 17;

// Supports '*' and '?', as configuration files use them. The last '*' matches as little as
// possible, and one character more each time the rest does not match; earlier ones need no
// backtracking.
bool matches(std::string_view name, std::string_view pattern) {
    constexpr std::size_t none = std::string_view::npos;
    std::size_t at = 0, in_pattern = 0, star = none, after_star = 0;
    while (at < name.size()) {
        const bool has_more = in_pattern < pattern.size();
        if (has_more && pattern[in_pattern] == '*') {
            star = in_pattern++;
            after_star = at;
        } else if (has_more && (pattern[in_pattern] == '?' || pattern[in_pattern] == name[at])) {
            ++in_pattern;
            ++at;
        } else if (star != none) {
            in_pattern = star + 1;
            at = ++after_star;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', in_pattern) == none;
}

// The contents of a regular file; reading others could block.
std::string configuration_in(const fs::path &file) {
    try {
        Source source(file);
        if (source.size() > most_configuration_bytes) {
            throw TooMuch(file.string() + " is larger than any such file");
        }
        return source.read_some(0, source.size());
    } catch (const Unreadable &) {
        return {};
    }
}

std::string trimmed(const std::string &line) {
    const std::string text = line.substr(0, line.find('#'));
    const std::size_t begin = text.find_first_not_of(" \t\r");
    const std::size_t end = text.find_last_not_of(" \t\r");
    return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// Replaces $name and ${name}; returns whether any occurred.
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
    add_configured(root_.below("/etc/ld.so.conf"));
    add_system_folders();
}

// Sorted by name.
LibrarySearch::Folders LibrarySearch::entries(const fs::path &folder) const {
    Folders entries;
    std::error_code error;
    for (fs::directory_iterator entry(root_.resolved(folder), error), end; !error && entry != end;
         entry.increment(error)) {
        if (entries.size() >= most_entries) {
            throw TooMuch(folder.string() + " has more entries than any such folder");
        }
        entries.push_back(folder / entry->path().filename());
    }
    std::sort(entries.begin(), entries.end());
    return entries;
}

// Whether it is a library of this architecture. Others are skipped, as the dynamic linker does.
bool LibrarySearch::try_candidate(SearchResult &result, const fs::path &path,
                                  const Architecture &architecture, SearchBudget &budget) const {
    budget.take_look();
    std::error_code ignored;
    const fs::path file = root_.resolved(path);
    if (!fs::exists(file, ignored)) {
        return false;
    }
    try {
        Source source(file);
        Binary binary = read_binary(source);
        budget.take_bytes(source.bytes_read());
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
                                     const std::vector<const Loaded *> &loaders,
                                     SearchBudget &budget) const {
    SearchResult result;
    const std::string wanted = lower_case(name);
    for (const fs::path &entry : entries(loaders.back()->path.parent_path())) {
        if (lower_case(entry.filename().string()) == wanted &&
            try_candidate(result, entry, loaders.front()->binary.architecture, budget)) {
            break;
        }
    }
    return result;
}

SearchResult LibrarySearch::find(const std::string &name,
                                 const std::vector<const Loaded *> &loaders,
                                 SearchBudget &budget) const {
    const Architecture &architecture = loaders.front()->binary.architecture;
    if (architecture.format == Format::pe) {
        return find_dll(name, loaders, budget);
    }
    SearchResult result;
    if (name.find('/') != std::string::npos) {
        Folders paths;
        add_expanded(paths, {name}, *loaders.front());
        for (const fs::path &path : paths) {
            if (try_candidate(result, path, architecture, budget)) {
                break;
            }
        }
        return result;
    }
    for (const fs::path &folder : elf_folders(loaders)) {
        if (try_candidate(result, folder / name, architecture, budget)) {
            break;
        }
    }
    return result;
}

// DT_RPATH also applies to dependencies, but is ignored if there is a DT_RUNPATH, which applies to
// its own library only.
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
    for (const fs::path &folder : without_repetitions(written)) {
        add_with_variants(folders, folder);
    }
    return folders;
}

// Keeps the first occurrence of each.
LibrarySearch::Folders LibrarySearch::without_repetitions(const Folders &folders) {
    Folders kept;
    std::set<fs::path> seen;
    for (const fs::path &folder : folders) {
        if (!seen.insert(folder).second) {
            continue;
        }
        if (kept.size() >= most_folders) {
            throw TooMuch("its libraries would be looked for in more folders than any system has");
        }
        kept.push_back(folder);
    }
    return kept;
}

// All variants, since the processor of the target machine is unknown.
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
            if (expanded.find('$') == std::string::npos) { // $PLATFORM is unknown here
                to.push_back(is_beside ? fs::path(expanded) : root_.below(expanded));
            }
            if (!has_lib) {
                break;
            }
        }
    }
}

// Each file once, since files may include each other. An include is replaced by the folders of the
// included file, before those of the following lines.
void LibrarySearch::add_configured(const fs::path &configuration) {
    std::set<fs::path> seen;
    std::size_t bytes = 0;
    std::vector<std::istringstream> open; // innermost last
    std::vector<fs::path> folders;        // folders of these files
    const auto begin = [&](const fs::path &file) {
        const fs::path found = root_.resolved(file);
        if (!seen.insert(found.lexically_normal()).second) {
            return;
        }
        if (seen.size() > most_configuration_files) {
            throw TooMuch(configuration.string() + " includes more files than any system has");
        }
        std::string text = configuration_in(found);
        bytes += text.size();
        if (bytes > most_configuration_bytes) {
            throw TooMuch(configuration.string() + " includes more than on any system");
        }
        open.emplace_back(std::move(text));
        folders.push_back(file.parent_path());
    };
    begin(configuration);
    while (!open.empty()) {
        std::string line;
        if (!std::getline(open.back(), line)) {
            open.pop_back();
            folders.pop_back();
            continue;
        }
        const std::string text = trimmed(line);
        if (text.starts_with("include ") || text.starts_with("include\t")) {
            const fs::path pattern = trimmed(text.substr(8));
            Folders included = entries_like(
                pattern.has_root_directory() ? root_.below(pattern) : folders.back() / pattern);
            std::for_each(included.rbegin(), included.rend(), begin);
        } else if (text.starts_with("/")) {
            default_folders_.push_back(root_.below(text));
        }
    }
    default_folders_ = without_repetitions(default_folders_);
}

// The entries of a folder that match a pattern.
LibrarySearch::Folders LibrarySearch::entries_like(const fs::path &pattern) const {
    Folders found = entries(pattern.parent_path());
    const std::string names = pattern.filename().string();
    std::erase_if(
        found, [&](const fs::path &entry) { return !matches(entry.filename().string(), names); });
    return found;
}

void SearchBudget::take_look() {
    if (looks_++ >= most_looks) {
        throw TooMuch("its libraries would be looked for in more places than any program needs");
    }
}

void SearchBudget::take_bytes(std::uint64_t count) {
    bytes_ += count;
    if (bytes_ > most_bytes) {
        throw TooMuch("its libraries have more to read than those of any program");
    }
}

// Debian keeps libraries of an architecture in a folder of that name, and those of a cross compiler
// in /usr/aarch64-linux-gnu/lib.
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
