#include "process/restart.hpp"
#include "base/notes.hpp"
#include "call/call.hpp"
#include "call/call_log.hpp"
#include "call/error_log.hpp"
#include "call/failed_calls.hpp"
#include "call/faults.hpp"
#include "call/kernel_files.hpp"
#include "call/lifecycle.hpp"
#include "call/misuse.hpp"
#include "call/startup.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/graph.hpp"
#include "engine/memory.hpp"
#include "engine/object.hpp"
#include "engine/open_calls.hpp"
#include "engine/work.hpp"
#include "kernel/host_kernels.hpp"
#include "process/initialise.hpp"

namespace sim {

void restart() {
    if (is_initialised() || is_resuming()) {
        resume_by(initialise);
    }
    count_restart();
    clear_faults();
    clear_failed_calls();
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
    Call::restart();
    start_again();
}

} // namespace sim
