#include "root.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace cushim_info {
namespace {

namespace fs = std::filesystem;

// The limit of Linux; a longer chain is a cycle.
constexpr int most_links = 40;

// The path components after those of the folder, in any spelling; no value if the path is not below
// it.
std::optional<std::vector<fs::path>> names_below(const fs::path &folder, const fs::path &path) {
    const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    if (end == folder.end()) {
        return std::vector<fs::path>(rest, path.end());
    }
    fs::path start;
    for (auto name = path.begin(); name != path.end(); ++name) {
        start /= *name;
        std::error_code error;
        if (fs::equivalent(start, folder, error)) {
            return std::vector<fs::path>(std::next(name), path.end());
        }
    }
    return std::nullopt;
}

} // namespace

Root::Root(fs::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    const fs::path real = fs::canonical(folder_, error);
    if (!error && real != real.root_path()) {
        folder_ = real;
        is_systems_own_ = false;
    }
}

fs::path Root::below(const fs::path &path) const {
    return path.has_root_directory() ? folder_ / path.relative_path() : path;
}

fs::path Root::resolved(const fs::path &path) const {
    if (is_systems_own_) {
        return path;
    }
    std::error_code error;
    auto names = names_below(folder_, fs::absolute(path, error));
    return names ? inside(std::move(*names)) : path;
}

fs::path Root::inside(std::vector<fs::path> names) const {
    std::reverse(names.begin(), names.end()); // the next component is last
    fs::path at;                              // below the folder
    for (int links = 0; !names.empty();) {
        const fs::path name = std::move(names.back());
        names.pop_back();
        if (name == "..") {
            at = at.parent_path();
            continue;
        }
        if (name.empty() || name == ".") {
            continue;
        }
        std::error_code error;
        const fs::path target = fs::read_symlink(folder_ / at / name, error);
        if (error || ++links > most_links) {
            at /= name; // not a link
            continue;
        }
        at = target.has_root_directory() ? fs::path() : at;
        const fs::path relative = target.relative_path();
        names.insert(names.end(), std::make_reverse_iterator(relative.end()),
                     std::make_reverse_iterator(relative.begin()));
    }
    return folder_ / at;
}

} // namespace cushim_info
