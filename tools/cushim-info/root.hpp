// The root of the audited programs' file system: that of this machine, or a folder with another
// one, such as that of a container or a device.
#pragma once

#include <filesystem>
#include <vector>

namespace cushim_info {

class Root {
  public:
    explicit Root(std::filesystem::path folder);

    // The path on this machine for a path of the programs; a relative path is unchanged.
    std::filesystem::path below(const std::filesystem::path &path) const;

    // The file that a path of this machine refers to. Below the root, symbolic links are resolved
    // as if it were the root of the running system, and never lead out of it.
    std::filesystem::path resolved(const std::filesystem::path &path) const;

  private:
    std::filesystem::path inside(std::vector<std::filesystem::path> names) const;

    std::filesystem::path folder_;
    bool is_systems_own_ = true;
};

} // namespace cushim_info
