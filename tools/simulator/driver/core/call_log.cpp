#include "call_log.hpp"

#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <unordered_map>

namespace sim {
namespace {

struct Entry {
    std::uint64_t number, thread;
    const char *name;
    std::string arguments;
    int status;
};

bool enabled = false;

std::deque<Entry> &entries() {
    static auto *all = new std::deque<Entry>;
    return *all;
}

std::unordered_map<std::thread::id, std::uint64_t> &threads() {
    static auto *all = new std::unordered_map<std::thread::id, std::uint64_t>;
    return *all;
}

std::uint64_t thread_number() {
    const auto [entry, added] = threads().emplace(std::this_thread::get_id(), threads().size() + 1);
    return entry->second;
}

std::string text_of(const Argument &argument) {
    char text[40] = "{}";
    const auto value = argument.value;
    switch (argument.kind) {
    case 'p':
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
        break;
    case 'u':
        std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
        break;
    case 'i':
        std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
        break;
    case 'f': {
        double number = 0;
        std::memcpy(&number, &value, sizeof number);
        std::snprintf(text, sizeof text, "%g", number);
        break;
    }
    default:
        break;
    }
    return text;
}

} // namespace

bool log_enabled() noexcept {
    return enabled;
}

void enable_log(bool on) noexcept {
    enabled = on;
}

void log_call(std::uint64_t number, const Row &row, const Argument *arguments, unsigned int count,
              int status) noexcept try {
    std::string text;
    for (unsigned int i = 0; i < count; ++i) {
        text += (i == 0 ? "" : ", ") + text_of(arguments[i]);
    }
    entries().push_back({number, thread_number(), row.name, std::move(text), status});
} catch (...) { // out of memory: the call itself must not fail
}

std::size_t logged_calls() noexcept {
    return entries().size();
}

bool logged_call(std::size_t index, cushim_sim_call &call) noexcept {
    if (index >= entries().size()) {
        return false;
    }
    const Entry &entry = entries()[index];
    call = {entry.number, entry.thread, entry.name, entry.arguments.c_str(), entry.status};
    return true;
}

void clear_log() noexcept {
    entries().clear();
}

void restart_log() noexcept {
    entries().clear();
    threads().clear();
    enabled = false;
}

} // namespace sim
