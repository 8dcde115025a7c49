// Determines properties of the machine that explain a missing GPU: container, WSL, device nodes,
// kernel module.
#pragma once

#include <filesystem>
#include <functional>

#include "model.hpp"

namespace cushim_info {

using GetEnvironment = std::function<const char *(const char *name)>;

// This machine. Properties that cannot be read count as absent.
Surroundings probe_surroundings(const GetEnvironment &variable);

// The part that is read from files of a Linux system below `root`.
Surroundings probe_files(const std::filesystem::path &root, const GetEnvironment &variable);

} // namespace cushim_info
