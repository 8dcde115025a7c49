// Which of the files that are loaded together defines what one of them imports.
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

// As the dynamic linker of glibc chooses: the first one in the order of `all` whose function fits.
// One without version fits every import, one with a version those that ask for it; those that ask
// for none get the default one.
class Definers {
  public:
    explicit Definers(const std::vector<Dependency> &all);

    // Its index in `all`; nothing: none of them defines it.
    std::optional<std::size_t> of(const Import &import) const;

  private:
    void add(const Export &function, std::size_t index);

    std::map<std::string, std::size_t> default_, unversioned_;
    std::map<std::pair<std::string, std::string>, std::size_t> versioned_;
};

} // namespace cushim_info
