#include "definers.hpp"

#include <algorithm>

namespace cushim_info {
namespace {

template <typename Map>
std::optional<std::size_t> found_in(const Map &map, const typename Map::key_type &key) {
    const auto found = map.find(key);
    return found != map.end() ? std::optional(found->second) : std::nullopt;
}

} // namespace

Definers::Definers(const std::vector<Dependency> &all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].loaded) {
            for (const Export &function : all[i].loaded->binary.exported) {
                add(function, i);
            }
        }
    }
}

// Earlier definitions take precedence.
void Definers::add(const Export &function, std::size_t index) {
    if (function.is_default) {
        default_.emplace(function.name, index);
    }
    if (function.version.empty()) {
        unversioned_.emplace(function.name, index);
    } else {
        versioned_.emplace(std::pair(function.name, function.version), index);
    }
}

std::optional<std::size_t> Definers::of(const Import &import) const {
    if (import.version.empty()) {
        return found_in(default_, import.name);
    }
    const auto versioned = found_in(versioned_, {import.name, import.version});
    const auto unversioned = found_in(unversioned_, import.name);
    return versioned && unversioned ? std::min(versioned, unversioned)
           : versioned              ? versioned
                                    : unversioned;
}

} // namespace cushim_info
