#include "call/misuse.hpp"
#include "base/immortal.hpp"
#include "base/refusal.hpp"
#include "call/call.hpp"
#include "call/settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace sim {
namespace {

constexpr std::size_t kept = 1000; // limits the memory of a program that never stops

std::vector<std::string> &all() {
    static Immortal<std::vector<std::string>> texts;
    return *texts;
}

constinit thread_local std::uint64_t own = 0;

std::string with_call(const std::string &text) {
    const Call *call = Call::current();
    if (call == nullptr) {
        return text;
    }
    return text + " (in " + call->name() + ", call " + std::to_string(call->number()) + ")";
}

} // namespace

void misuse(const std::string &text) noexcept try {
    ++own;
    const std::string line = with_call(text);
    if (all().size() < kept) {
        all().push_back(line);
    }
    if (settings().abort) {
        std::fprintf(stderr, "cushim-sim: misuse: %s\n", line.c_str());
        std::abort();
    }
} catch (...) { // out of memory: the call still returns its status
}

void refuse_fatal(const std::string &text, CUresult status) {
    misuse(text + "; the recorded driver crashes the process here");
    refuse(status);
}

std::size_t misuse_count() noexcept {
    return all().size();
}

std::uint64_t misuses_of_thread() noexcept {
    return own;
}

void for_each_misuse(const std::function<void(const std::string &)> &function) {
    for (const std::string &text : all()) {
        function(text);
    }
}

void clear_misuses() noexcept {
    all().clear();
}

} // namespace sim
