#include "call/startup.hpp"
#include "base/immortal.hpp"
#include "base/platform.hpp"
#include "base/refusal.hpp"
#include "call/call_log.hpp"
#include "call/faults.hpp"
#include "call/settings.hpp"

#include <atomic>
#include <cstdio>
#include <set>

namespace sim {
namespace {

bool started = false;
std::atomic<unsigned long long> count{0}; // also read without the lock

std::set<std::string> &kept_texts() noexcept {
    static Immortal<std::set<std::string>> texts;
    return *texts;
}

std::string &environment_problem() noexcept {
    static Immortal<std::string> problem;
    return *problem;
}

void read_environment() {
    const auto problem = configure(platform::environment("CUSHIM_SIM"));
    environment_problem() = problem ? "CUSHIM_SIM: " + *problem : "";
    settings_problem() = problem.value_or("");
    enable_log(settings().log);
    share_faults();
}

} // namespace

std::string &settings_problem() noexcept {
    static Immortal<std::string> problem;
    return *problem;
}

const char *kept_text(const std::string &text) {
    return kept_texts().insert(text).first->c_str();
}

void check_settings() {
    const std::string &problem =
        environment_problem().empty() ? settings_problem() : environment_problem();
    if (!problem.empty()) {
        refuse_start(problem);
    }
}

void refuse_start(const std::string &problem) {
    std::fprintf(stderr, "cushim-sim: cuInit fails: %s\n", problem.c_str());
    refuse(CUDA_ERROR_UNKNOWN);
}

unsigned long long restarts() noexcept {
    return count;
}

void start_once() noexcept try {
    if (!started) {
        started = true;
        read_environment();
    }
} catch (...) { // out of memory
}

void start_again() {
    started = true;
    kept_texts().clear();
    settings() = Settings();
    read_environment();
}

void count_restart() noexcept {
    ++count;
}

} // namespace sim
