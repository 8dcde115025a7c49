// The libraries that are loaded with a program, and their dependencies.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "binary.hpp"
#include "cuda_names.hpp"
#include "library_search.hpp"

namespace cushim_info {

struct Dependency {
    std::string name;          // as needed; for the audited file: its file name
    std::size_t needed_by = 0; // the file that needs it, nearest to the audited file
    LibraryKind kind = LibraryKind::other;
    std::optional<Loaded> loaded; // no value: not found
    std::string problem;          // why it could not be read; "" if it does not exist
    std::vector<std::size_t> needs;
};

// The audited file first, then its dependencies in breadth-first order. Dependencies of the driver
// and the runtime are left out, since the user cannot change them. Throws Unreadable if the file
// itself cannot be read.
std::vector<Dependency> find_dependencies(const std::filesystem::path &file,
                                          const LibrarySearch &search);

// The names on the shortest path from the audited file.
std::vector<std::string> chain_to(const std::vector<Dependency> &all, std::size_t index);

} // namespace cushim_info
