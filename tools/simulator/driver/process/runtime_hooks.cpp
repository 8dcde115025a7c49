#include "process/runtime_hooks.hpp"
#include "base/export.hpp"
#include "base/refusal.hpp"
#include "call/faults.hpp"
#include "call/runtime_calls.hpp"
#include "call/startup.hpp"
#include "engine/object.hpp"

namespace sim {
namespace {

std::uint64_t epoch() {
    return restarts();
}

void add_rows(const Row *rows, unsigned int count) {
    const std::lock_guard held(Lock::mutex());
    add_known_rows(rows, count);
}

void keep_for_runtime(const void *handle) {
    const std::lock_guard held(Lock::mutex());
    if (Object *object = Registry::get().find(handle)) {
        object->counted = false;
    }
}

void explain_for_runtime(const char *text) {
    note_refusal();
    explain("%s", text);
}

constexpr Hooks hooks = {
    Hooks::current_interface, enter_runtime_call, leave_runtime_call, epoch, add_rows,
    keep_for_runtime,         explain_for_runtime};

} // namespace

} // namespace sim

extern "C" SIM_EXPORT const sim::Hooks *cushim_sim_hooks() {
    return &sim::hooks;
}
