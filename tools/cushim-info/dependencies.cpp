#include "dependencies.hpp"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "windows_names.hpp"

namespace cushim_info {
namespace {

namespace fs = std::filesystem;

// More than any program has; limits the time for malicious files.
constexpr std::size_t most_libraries = 4096;

bool is_replaced(LibraryKind kind) {
    return kind == LibraryKind::driver || kind == LibraryKind::runtime;
}

class Walk {
  public:
    explicit Walk(const LibrarySearch &search) : search_(search) {}

    std::vector<Dependency> from(const fs::path &file);

  private:
    void add_auxiliary(const std::string &name, std::size_t wanted_by);
    std::size_t index_of(const std::string &name, std::size_t needed_by);
    std::size_t load(const std::string &name, std::size_t needed_by);
    std::vector<const Loaded *> loaders_of(std::size_t index) const;

    // A library is loaded once, under the name that is needed first or its own name.
    std::string key(const std::string &name) const {
        const bool is_pe = all_.front().loaded->binary.architecture.format == Format::pe;
        return is_pe ? lower_case(name) : name;
    }
    void remember(const std::string &name, std::size_t index) { known_.emplace(key(name), index); }

    const LibrarySearch &search_;
    SearchBudget budget_;
    std::vector<Dependency> all_;
    std::map<std::string, std::size_t> known_;
};

std::vector<Dependency> Walk::from(const fs::path &file) {
    const fs::path found = search_.root().resolved(file);
    Source source(found);
    std::error_code error;
    const fs::path path = fs::canonical(found, error); // $ORIGIN of a program refers to this
    Dependency root;
    root.name = file.filename().string();
    root.loaded = Loaded{error ? found : path, read_binary(source)};
    root.kind = library_kind(root.name);
    all_.push_back(std::move(root));
    if (const std::string &name = all_.front().loaded->binary.name; !name.empty()) {
        remember(name, 0);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (!all_[i].loaded || (i > 0 && is_replaced(all_[i].kind))) {
            continue;
        }
        const Binary binary = all_[i].loaded->binary; // the list grows
        for (const std::string &name : binary.needed) {
            const std::size_t index = index_of(name, i);
            all_[i].needs.push_back(index);
        }
        for (const std::string &name : binary.auxiliary) {
            add_auxiliary(name, i);
        }
    }
    return std::move(all_);
}

// An auxiliary library is optional, so a missing one or a CUDA library is ignored.
void Walk::add_auxiliary(const std::string &name, std::size_t wanted_by) {
    if (library_kind(name) == LibraryKind::other &&
        search_.find(name, loaders_of(wanted_by), budget_).library) {
        const std::size_t index = index_of(name, wanted_by);
        all_[wanted_by].needs.push_back(index);
    }
}

std::size_t Walk::index_of(const std::string &name, std::size_t needed_by) {
    const auto known = known_.find(key(name));
    return known != known_.end() ? known->second : load(name, needed_by);
}

std::size_t Walk::load(const std::string &name, std::size_t needed_by) {
    if (all_.size() >= most_libraries) {
        throw Unreadable("it needs more libraries than any program does");
    }
    SearchResult found = search_.find(name, loaders_of(needed_by), budget_);
    if (found.library && !found.library->binary.name.empty()) {
        const auto same = known_.find(key(found.library->binary.name));
        if (same != known_.end()) {
            remember(name, same->second);
            return same->second;
        }
        remember(found.library->binary.name, all_.size());
    }
    Dependency dependency;
    dependency.name = name;
    dependency.needed_by = needed_by;
    dependency.kind = library_kind(name);
    dependency.problem = found.library ? "" : found.problem;
    dependency.loaded = std::move(found.library);
    remember(name, all_.size());
    all_.push_back(std::move(dependency));
    return all_.size() - 1;
}

std::vector<const Loaded *> Walk::loaders_of(std::size_t index) const {
    std::vector<const Loaded *> loaders;
    for (;; index = all_[index].needed_by) {
        loaders.push_back(&*all_[index].loaded);
        if (index == 0) {
            return loaders;
        }
    }
}

} // namespace

std::vector<Dependency> find_dependencies(const fs::path &file, const LibrarySearch &search) {
    return Walk(search).from(file);
}

std::vector<std::string> chain_to(const std::vector<Dependency> &all, std::size_t index) {
    std::vector<std::string> names;
    for (;; index = all[index].needed_by) {
        names.push_back(all[index].name);
        if (index == 0) {
            break;
        }
    }
    std::reverse(names.begin(), names.end());
    return names;
}

} // namespace cushim_info
