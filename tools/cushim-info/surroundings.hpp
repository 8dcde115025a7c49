// Looks for what explains a missing GPU: a container, WSL, device nodes, the kernel module.
#pragma once

#include <filesystem>
#include <functional>

#include "model.hpp"

namespace cushim_info {

using GetEnvironment = std::function<const char *(const char *name)>;

// This machine. What cannot be read counts as absent.
Surroundings probe_surroundings(const GetEnvironment &variable);

// The part of it that is read from files of a Linux system, those below root.
Surroundings probe_files(const std::filesystem::path &root, const GetEnvironment &variable);

} // namespace cushim_info
