// The root of the file system that the audited programs are for: this machine's, or a folder that
// holds another one, as of a container or of a device.
#pragma once

#include <filesystem>
#include <vector>

namespace cushim_info {

class Root {
  public:
    explicit Root(std::filesystem::path folder);

    // Where a path that programs use is found here; a relative one stays as it is.
    std::filesystem::path below(const std::filesystem::path &path) const;

    // The file that is meant by a path of this machine: below the root, symbolic links lead where
    // they would lead if it was the root of the running system, and never out of it.
    std::filesystem::path resolved(const std::filesystem::path &path) const;

  private:
    std::filesystem::path inside(std::vector<std::filesystem::path> names) const;

    std::filesystem::path folder_;
    bool is_systems_own_ = true;
};

} // namespace cushim_info
