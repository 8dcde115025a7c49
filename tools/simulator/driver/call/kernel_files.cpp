#include "call/kernel_files.hpp"
#include "base/immortal.hpp"
#include "base/platform.hpp"
#include "call/call.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {
namespace {

std::vector<std::string> &pending() noexcept {
    static Immortal<std::vector<std::string>> paths;
    return *paths;
}

// An absolute path, so that the name is opened as a file and not searched for.
std::string absolute(const std::string &path) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    return error ? path : whole.string();
}

std::string register_file(const std::string &path, const cushim_sim &table) {
    std::string why;
    const auto entry = reinterpret_cast<void (*)(const cushim_sim *)>(
        platform::function_of(absolute(path), CUSHIM_SIM_KERNELS, why));
    if (entry == nullptr) {
        return "kernels=" + path + ": " + why;
    }
    entry(&table);
    return "";
}

} // namespace

void add_kernel_file(std::string path) {
    pending().push_back(std::move(path));
}

void clear_kernel_files() noexcept {
    pending().clear();
}

std::size_t kernel_files() noexcept {
    return pending().size();
}

void keep_kernel_files(std::size_t count) noexcept {
    pending().erase(pending().begin() +
                        static_cast<std::ptrdiff_t>(std::min(count, pending().size())),
                    pending().end());
}

// Files stay pending until they are registered: no other thread's cuInit may return before that.
std::string register_kernel_files(const cushim_sim &table) {
    std::vector<std::string> paths;
    {
        const std::lock_guard<std::mutex> held(Lock::mutex());
        paths = pending();
    }
    std::string problem;
    for (const std::string &path : paths) {
        problem = register_file(path, table);
        if (!problem.empty()) {
            break;
        }
    }
    const std::lock_guard<std::mutex> held(Lock::mutex());
    if (problem.empty()) {
        std::erase_if(pending(), [&](const std::string &path) {
            return std::find(paths.begin(), paths.end(), path) != paths.end();
        });
    }
    return problem;
}

} // namespace sim
