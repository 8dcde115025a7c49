// cushim_sim_control(): the control table for tests.
#include "process/control.hpp"
#include "base/export.hpp"
#include "base/notes.hpp"
#include "call/call.hpp"
#include "call/call_log.hpp"
#include "call/faults.hpp"
#include "call/kernel_files.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "call/startup.hpp"
#include "engine/memory.hpp"
#include "engine/work.hpp"
#include "graph/graph_nodes.hpp"
#include "interop/external.hpp"
#include "kernel/host_kernels.hpp"
#include "kernel/kernel_variable.hpp"
#include "memory/kernel_memory.hpp"
#include "process/report.hpp"
#include "process/restart.hpp"
#include "process/runtime_hooks.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace sim {
namespace {

using Held = std::lock_guard<std::mutex>;

void control_reset() {
    const Held held(Lock::mutex());
    restart();
}

std::string apply_settings(const char *text) {
    const auto problem = text ? configure(text) : "no text";
    enable_log(settings().log);
    return problem.value_or("");
}

int control_configure(const char *text) {
    std::size_t files = 0;
    std::string problem;
    {
        const Held held(Lock::mutex());
        start_once();
        files = kernel_files();
        problem = apply_settings(text);
    }
    if (problem.empty()) {
        problem = register_kernel_files(*control_table());
    }
    const Held held(Lock::mutex());
    if (!problem.empty()) {
        keep_kernel_files(files); // files of this text are not opened again
    }
    settings_problem() = problem;
    return problem.empty() ? 0 : -1;
}

const char *control_problem() {
    const Held held(Lock::mutex());
    return kept_text(settings_problem());
}

void *control_view(std::uint64_t address, std::size_t size) {
    const Held held(Lock::mutex());
    const auto device_address = static_cast<CUdeviceptr>(address);
    KernelScope::check_null(device_address, size);
    KernelScope::check_end(device_address, size);
    return KernelScope::may_view(device_address) ? view_or_null(device_address, size, true)
                                                 : nullptr;
}

void control_register_kernel(const char *name, cushim_sim_kernel kernel, void *user) {
    const Held held(Lock::mutex());
    register_kernel(name, kernel, user);
}

std::uint64_t control_plan_fault(const cushim_sim_fault *fault) {
    const Held held(Lock::mutex());
    start_once();
    return fault ? plan_fault(*fault) : 0;
}

std::uint64_t control_fault_fired(std::uint64_t number) {
    const Held held(Lock::mutex());
    return fault_fired(number);
}

void control_clear_faults() {
    const Held held(Lock::mutex());
    clear_faults();
}

void control_release_hangs() {
    const Held held(Lock::mutex());
    release_hangs();
}

void control_log_calls(int on) {
    const Held held(Lock::mutex());
    start_once();
    settings().log = on != 0;
    enable_log(on != 0);
}

std::size_t control_call_count() {
    const Held held(Lock::mutex());
    return logged_calls();
}

int control_call_at(std::size_t index, cushim_sim_call *call) {
    const Held held(Lock::mutex());
    return call != nullptr && logged_call(index, *call) ? 1 : 0;
}

void control_clear_calls() {
    const Held held(Lock::mutex());
    clear_log();
}

// Collects lines under the lock, then passes them to the client without it, since it may call CUDA.
template <class Collect>
std::size_t list_lines(cushim_sim_line line, void *user, const Collect &collect) {
    std::vector<std::string> lines;
    {
        const Held held(Lock::mutex());
        collect([&](const std::string &text) { lines.push_back(text); });
    }
    if (line != nullptr) {
        for (const std::string &text : lines) {
            line(text.c_str(), user);
        }
    }
    return lines.size();
}

std::size_t control_leaks(cushim_sim_line line, void *user) {
    return list_lines(line, user, for_each_leak);
}

std::size_t control_misuses(cushim_sim_line line, void *user) {
    return list_lines(line, user, for_each_misuse);
}

std::size_t control_drain() {
    const Held held(Lock::mutex());
    return drain();
}

int control_entry_at(std::size_t index, const char **name, int *simulated) {
    const Held held(Lock::mutex());
    const Row *row = known_row(index);
    if (row == nullptr) {
        return 0;
    }
    if (name != nullptr) {
        *name = row->name;
    }
    if (simulated != nullptr) {
        *simulated = row->simulated ? 1 : 0;
    }
    return 1;
}

int control_set_conditional(std::uint64_t handle, unsigned int value) {
    const Held held(Lock::mutex());
    return set_conditional(handle, value) ? 0 : -1;
}

int control_make_memory_fd(std::size_t size) {
    const Held held(Lock::mutex());
    return make_memory_fd(size);
}

int control_make_semaphore_fd(std::uint64_t initial) {
    const Held held(Lock::mutex());
    return make_semaphore_fd(initial);
}

void control_clear_misuses() {
    const Held held(Lock::mutex());
    clear_misuses();
}

std::size_t control_idle_kernels(cushim_sim_line line, void *user) {
    return list_lines(line, user, for_each_idle_kernel);
}

std::size_t control_lost(cushim_sim_line line, void *user) {
    return list_lines(line, user, for_each_lost);
}

std::size_t control_idle_faults(cushim_sim_line line, void *user) {
    return list_lines(line, user, [](const Line &each) {
        for_each_idle_fault([&](const std::string &text, bool is_error) {
            if (is_error) {
                each(text);
            }
        });
    });
}

std::size_t control_notes(cushim_sim_line line, void *user) {
    return list_lines(
        line, user, [](const Line &each) { std::for_each(notes().begin(), notes().end(), each); });
}

void *control_variable(const cushim_sim_launch *launch, const char *name, std::size_t *size) {
    const Held held(Lock::mutex());
    VariableView found;
    const Object *module = launch != nullptr ? Registry::get().find(launch->module) : nullptr;
    if (module != nullptr && module->kind == Kind::module && name != nullptr) {
        found = kernel_variable(*static_cast<const Module *>(module), launch->kernel, name);
    }
    if (size != nullptr) {
        *size = found.size;
    }
    return found.view;
}

void *control_view_rest(std::uint64_t address, int write, std::size_t *size) {
    const Held held(Lock::mutex());
    const auto device_address = static_cast<CUdeviceptr>(address);
    MemoryRest rest;
    if (device_address != 0) {
        if (KernelScope::may_view(device_address)) {
            rest = rest_of(device_address, write != 0);
        }
        if (rest.view == nullptr) {
            KernelScope::report_address(device_address);
        }
    }
    if (size != nullptr) {
        *size = rest.size;
    }
    return rest.view;
}

void control_report_misuse(const cushim_sim_launch *launch, const char *text) {
    const Held held(Lock::mutex());
    if (launch != nullptr && text != nullptr) {
        misuse("kernel " + std::string(launch->kernel) + ": " + text);
    }
}

constexpr cushim_sim control = {
    CUSHIM_SIM_INTERFACE,    CUSHIM_SIM_REVISION,
    control_reset,           control_configure,
    control_problem,         control_view,
    control_register_kernel, control_plan_fault,
    control_fault_fired,     control_clear_faults,
    control_release_hangs,   control_log_calls,
    control_call_count,      control_call_at,
    control_clear_calls,     control_leaks,
    control_misuses,         control_drain,
    control_entry_at,        control_set_conditional,
    control_make_memory_fd,  control_make_semaphore_fd,
    control_clear_misuses,   control_idle_kernels,
    control_notes,           control_lost,
    control_idle_faults,     control_variable,
    control_view_rest,       control_report_misuse,
};

} // namespace

const cushim_sim *control_table() noexcept {
    return &control;
}

} // namespace sim

extern "C" SIM_EXPORT const cushim_sim *cushim_sim_control(void) {
    return sim::control_table();
}
