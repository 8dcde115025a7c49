// Finds the libraries of a program in the folders that its system's dynamic linker searches.
//
// ELF: DT_RPATH, DT_RUNPATH, the folders of /etc/ld.so.conf, and the system's folders, including
// those of other architectures; in each, variants for newer processors come first (glibc-hwcaps),
// as on a machine with the newest processor. LD_LIBRARY_PATH is ignored, since it does not belong
// to the program. PE: the program's folder. DLLs of Windows, which do not include CUDA's, are not
// searched for.
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
    std::string problem; // a file of that name that could not be read, with the reason; "" if none
};

// The system exceeds the limits of an audit, which only an artificial one does.
class TooMuch : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The limits of one audit. Each function throws TooMuch if its limit is exceeded.
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

    // The file system of the programs.
    const Root &root() const { return root_; }

    // Finds a library by the name under which it is needed. `loaders` begins with the file that
    // needs it, followed by the file that needs that one, up to the program.
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
    std::vector<std::string> lib_names_; // possible values of $LIB
    Folders default_folders_;
};

} // namespace cushim_info
