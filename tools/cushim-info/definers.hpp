// Determines which of the files that are loaded together defines an import.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binary.hpp"
#include "dependencies.hpp"

namespace cushim_info {

// Follows the dynamic linker of glibc: the first match in the order of `all`. A function without a
// version matches every import; a function with a version matches imports that request it; imports
// without a version get the default one.
class Definers {
  public:
    explicit Definers(const std::vector<Dependency> &all);

    // Its index in `all`; no value if no file defines it.
    std::optional<std::size_t> of(const Import &import) const;

  private:
    void add(const Export &function, std::size_t index);

    std::map<std::string, std::size_t> default_, unversioned_;
    std::map<std::pair<std::string, std::string>, std::size_t> versioned_;
};

} // namespace cushim_info
