#include "call/restart.hpp"
#include "base/immortal.hpp"
#include "base/notes.hpp"
#include "base/platform.hpp"
#include "call/call.hpp"
#include "call/call_log.hpp"
#include "call/error_log.hpp"
#include "call/faults.hpp"
#include "call/kernel_files.hpp"
#include "call/lifecycle.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/graph.hpp"
#include "engine/memory.hpp"
#include "engine/object.hpp"
#include "engine/open_calls.hpp"
#include "engine/work.hpp"
#include "kernel/host_kernels.hpp"

#include <atomic>
#include <cstdio>
#include <set>

namespace sim {
namespace {

bool started = false;
std::atomic<unsigned long long> count{0}; // read without the lock, too

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
    std::fprintf(stderr, "cushim-sim: cuInit fails, %s\n", problem.c_str());
    refuse(CUDA_ERROR_UNKNOWN);
}

unsigned long long restarts() noexcept {
    return count;
}

void restart() {
    started = true;
    ++count;
    clear_faults();
    stop_engine();
    restart_graphs();
    Registry::get().clear();
    AddressSpace::get().clear();
    forget_context_stacks();
    restart_devices();
    restart_process();
    clear_kernels();
    clear_kernel_files();
    clear_misuses();
    clear_notes();
    restart_error_log();
    clear_open_calls();
    restart_log();
    kept_texts().clear();
    Call::restart();
    settings() = Settings();
    read_environment();
}

void start_once() noexcept try {
    if (!started) {
        started = true;
        read_environment();
    }
} catch (...) { // out of memory
}

} // namespace sim
