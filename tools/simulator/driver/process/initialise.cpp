#include "process/initialise.hpp"
#include "base/platform.hpp"
#include "base/refusal.hpp"
#include "call/call.hpp"
#include "call/failed_calls.hpp"
#include "call/kernel_files.hpp"
#include "call/lifecycle.hpp"
#include "call/runtime_calls.hpp"
#include "call/settings.hpp"
#include "call/startup.hpp"
#include "engine/device.hpp"
#include "process/control.hpp"
#include "process/report.hpp"

#include <cstdio>
#include <cstdlib>

namespace sim {
namespace {

// Handlers run last-in first-out: those registered after cuInit still find a driver.
void at_exit() {
    bool failed = false;
    // Objects in a child belong to its parent.
    if (settings().report != Report::none && !is_forked()) {
        if (Lock::take_at_exit()) {
            failed = report_at_exit();
            Lock::mutex().unlock();
        } else {
            std::fputs("cushim-sim: no report: a thread was terminated inside a call\n", stderr);
        }
    }
    set_exiting();
    if (failed) {
        platform::exit_with(1);
    }
}

void check_kernel_files() {
    std::string problem;
    {
        const ClientCode unlocked;
        problem = register_kernel_files(*control_table());
    }
    if (!problem.empty()) {
        refuse_start(problem);
    }
}

void register_handlers() {
    static const bool once = [] {
        std::atexit(at_exit);
        if (settings().report == Report::errors) {
            platform::with_exit_status(note_exit_status); // runs before at_exit()
        }
        platform::after_fork_in_child(set_forked);
        return true;
    }();
    (void)once;
}

} // namespace

void initialise() {
    require(!is_exiting(), CUDA_ERROR_DEINITIALIZED);
    require(!is_forked(), CUDA_ERROR_NOT_INITIALIZED);
    check_settings();
    check_kernel_files();
    require(settings().init == 0, static_cast<CUresult>(settings().init));
    if (!is_initialised()) {
        const CUresult status = restart_devices();
        require(status == CUDA_SUCCESS, status);
        register_handlers();
        set_initialised();
    }
}

} // namespace sim
