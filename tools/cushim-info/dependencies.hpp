// The libraries that are loaded with a program, and who needs whom.
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
    std::string name;          // as it is needed; of the audited file: its file name
    std::size_t needed_by = 0; // who needs it, the nearest to the audited file
    LibraryKind kind = LibraryKind::other;
    std::optional<Loaded> loaded; // nothing: it was not found
    std::string problem;          // why it could not be read, "" if there is no such file
    std::vector<std::size_t> needs;
};

// The audited file first, then what it needs, then what that needs. What the driver and the runtime
// need is not looked for: nobody could do anything about it. Throws Unreadable if the file itself
// cannot be read.
std::vector<Dependency> find_dependencies(const std::filesystem::path &file,
                                          const LibrarySearch &search);

// The names on the shortest way from the audited file.
std::vector<std::string> chain_to(const std::vector<Dependency> &all, std::size_t index);

} // namespace cushim_info
