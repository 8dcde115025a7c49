#include "base/notes.hpp"
#include "base/immortal.hpp"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr std::size_t kept = 1000; // limits the memory of a program that never stops

std::vector<std::string> &all() noexcept {
    static Immortal<std::vector<std::string>> texts;
    return *texts;
}

} // namespace

void note(std::string text) noexcept try {
    if (all().size() < kept) {
        all().push_back(std::move(text));
    }
} catch (...) { // out of memory
}

void note_once(const std::string &text) noexcept try {
    if (std::find(all().begin(), all().end(), text) == all().end()) {
        note(text);
    }
} catch (...) { // out of memory
}

const std::vector<std::string> &notes() noexcept {
    return all();
}

void clear_notes() noexcept {
    all().clear();
}

} // namespace sim
