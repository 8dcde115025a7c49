// Finds the libraries that a program needs where its system's dynamic linker would look.
//
// ELF: DT_RPATH, DT_RUNPATH, the folders of /etc/ld.so.conf, the system's own folders, those of
// other architectures among them; in each, what is for newer processors first (glibc-hwcaps), as on
// a machine that has the newest. Nothing of the environment: LD_LIBRARY_PATH is not the program's.
// PE: the program's folder. Windows' own DLLs, which CUDA's are not part of, are not found there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "binary.hpp"
#include "root.hpp"

namespace cushim_info {

struct Loaded {
    std::filesystem::path path;
    Binary binary;
};

struct SearchResult {
    std::optional<Loaded> library;
    std::string problem; // a file of that name that could not be read, and why; "" if there is none
};

// What is there is more than an audit looks at; one of a system that somebody made up.
class TooMuch : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// What one audit may look at. Each throws TooMuch when that is used up.
class SearchBudget {
  public:
    void take_look();
    void take_bytes(std::uint64_t count);

  private:
    static constexpr std::size_t most_looks = 1 << 17;
    static constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;

    std::size_t looks_ = 0;
    std::uint64_t bytes_ = 0;
};

class LibrarySearch {
  public:
    // Throws TooMuch.
    explicit LibrarySearch(std::filesystem::path root);

    // Of the file system that the programs are for.
    const Root &root() const { return root_; }

    // A library by the name under which it is needed. Who needs it comes first among `loaders`,
    // then who needs that one, up to the program.
    SearchResult find(const std::string &name, const std::vector<const Loaded *> &loaders,
                      SearchBudget &budget) const;

  private:
    using Folders = std::vector<std::filesystem::path>;

    Folders elf_folders(const std::vector<const Loaded *> &loaders) const;
    void add_expanded(Folders &to, const std::vector<std::string> &folders,
                      const Loaded &owner) const;
    void add_configured(const std::filesystem::path &configuration);
    Folders entries_like(const std::filesystem::path &pattern) const;
    static Folders without_repetitions(const Folders &folders);
    void add_system_folders();
    void add_with_variants(Folders &to, const std::filesystem::path &folder) const;
    Folders entries(const std::filesystem::path &folder) const;
    bool try_candidate(SearchResult &result, const std::filesystem::path &path,
                       const Architecture &architecture, SearchBudget &budget) const;
    SearchResult find_dll(const std::string &name, const std::vector<const Loaded *> &loaders,
                          SearchBudget &budget) const;

    Root root_;
    std::vector<std::string> lib_names_; // what $LIB may stand for
    Folders default_folders_;
};

} // namespace cushim_info
