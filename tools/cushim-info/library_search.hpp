// Finds the libraries that a program needs where its system's dynamic linker would look.
//
// ELF: DT_RPATH, DT_RUNPATH, the folders of /etc/ld.so.conf, the system's own folders, those of
// other architectures among them; in each, what is for newer processors first (glibc-hwcaps), as on a
// machine that has the newest. Nothing of the environment: LD_LIBRARY_PATH is not the program's.
// PE: the program's folder. Windows' own DLLs, which CUDA's are not part of, are not found there.
#pragma once

#include <filesystem>
#include <optional>
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

class LibrarySearch {
  public:
    explicit LibrarySearch(std::filesystem::path root);

    // Of the file system that the programs are for.
    const Root &root() const { return root_; }

    // A library by the name under which it is needed. Who needs it comes first among `loaders`,
    // then who needs that one, up to the program.
    SearchResult find(const std::string &name, const std::vector<const Loaded *> &loaders) const;

  private:
    using Folders = std::vector<std::filesystem::path>;

    Folders elf_folders(const std::vector<const Loaded *> &loaders) const;
    void add_expanded(Folders &to, const std::vector<std::string> &folders,
                      const Loaded &owner) const;
    void add_configured(const std::filesystem::path &file, int depth);
    void add_included(const std::filesystem::path &pattern, int depth);
    void add_system_folders();
    void add_with_variants(Folders &to, const std::filesystem::path &folder) const;
    Folders entries(const std::filesystem::path &folder) const;
    bool try_candidate(SearchResult &result, const std::filesystem::path &path,
                       const Architecture &architecture) const;
    SearchResult find_dll(const std::string &name,
                          const std::vector<const Loaded *> &loaders) const;

    Root root_;
    std::vector<std::string> lib_names_; // what $LIB may stand for
    Folders default_folders_;
};

} // namespace cushim_info
