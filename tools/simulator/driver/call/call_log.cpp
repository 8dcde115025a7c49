#include "call/call_log.hpp"
#include "base/immortal.hpp"
#include "base/thread_number.hpp"
#include "call/startup.hpp"

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace sim {
namespace {

struct Entry {
    std::uint64_t number, thread;
    const char *name;
    std::string arguments;
    int status;
};

bool enabled = false;

std::vector<Entry> &entries() {
    static Immortal<std::vector<Entry>> all;
    return *all;
}

// The listed numbers of threads, by thread_number(). They start at 1 again after a reset.
std::map<std::uint64_t, std::uint64_t> &listed_threads() {
    static Immortal<std::map<std::uint64_t, std::uint64_t>> all;
    return *all;
}

std::uint64_t listed_thread() {
    auto &all = listed_threads();
    return all.try_emplace(thread_number(), all.size() + 1).first->second;
}

// The text in quotes, with non-printable bytes as "\x0a". Long texts end with "...".
std::string quoted(const char *given) {
    constexpr std::size_t longest = 100;
    std::string text = "\"";
    std::size_t i = 0;
    for (; i < longest && given[i] != '\0'; ++i) {
        const auto byte = static_cast<unsigned char>(given[i]);
        if (byte == '"' || byte == '\\') {
            text += '\\';
        }
        if (byte < 0x20 || byte == 0x7f) {
            char code[8];
            std::snprintf(code, sizeof code, "\\x%02x", byte);
            text += code;
        } else {
            text += given[i];
        }
    }
    return text + (given[i] != '\0' ? "...\"" : "\"");
}

std::string text_of(const Argument &argument) {
    char text[40] = "{}";
    const auto value = argument.value;
    switch (argument.kind) {
    case 't':
        return value == 0 ? "0x0" : quoted(reinterpret_cast<const char *>(value));
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

std::string text_of(const Argument *arguments, unsigned int count) {
    std::string text;
    for (unsigned int i = 0; i < count; ++i) {
        text += (i == 0 ? "" : ", ") + text_of(arguments[i]);
    }
    return text;
}

bool log_enabled() noexcept {
    return enabled;
}

void enable_log(bool on) noexcept {
    enabled = on;
}

void log_call(std::uint64_t number, const Row &row, const Argument *arguments, unsigned int count,
              int status) noexcept try {
    entries().push_back({number, listed_thread(), row.name, text_of(arguments, count), status});
} catch (...) { // out of memory: the call itself must not fail
}

std::size_t logged_calls() noexcept {
    return entries().size();
}

bool logged_call(std::size_t index, cushim_sim_call &call) {
    if (index >= entries().size()) {
        return false;
    }
    const Entry &entry = entries()[index];
    call = {entry.number, entry.thread, entry.name, kept_text(entry.arguments), entry.status};
    return true;
}

void clear_log() noexcept {
    entries().clear();
}

void restart_log() noexcept {
    entries().clear();
    listed_threads().clear();
    enabled = false;
}

} // namespace sim
