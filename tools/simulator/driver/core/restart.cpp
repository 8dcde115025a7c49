#include "restart.hpp"
#include "call.hpp"
#include "call_log.hpp"
#include "device.hpp"
#include "faults.hpp"
#include "graph.hpp"
#include "host_kernels.hpp"
#include "lifecycle.hpp"
#include "memory.hpp"
#include "misuse.hpp"
#include "object.hpp"
#include "platform.hpp"
#include "settings.hpp"
#include "work.hpp"

#include <atomic>
#include <cstdio>

namespace sim {
namespace {

bool started = false;
std::atomic<unsigned long long> count{0}; // read without the lock, too

void read_environment() {
    const std::string text = platform::environment("CUSHIM_SIM");
    settings_problem().clear();
    if (const auto problem = configure(text)) {
        settings_problem() = *problem;
        // A child that a test set up wrongly must not pass for a good one.
        std::fprintf(stderr, "cushim-sim: CUSHIM_SIM: %s\n", problem->c_str());
    }
    enable_log(settings().log);
}

} // namespace

std::string &settings_problem() noexcept {
    static auto *problem = new std::string;
    return *problem;
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
    restart_devices();
    restart_process();
    clear_kernels();
    clear_misuses();
    restart_log();
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
