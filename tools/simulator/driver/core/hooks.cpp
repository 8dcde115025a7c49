#include "hooks.hpp"
#include "call_log.hpp"
#include "export.hpp"
#include "faults.hpp"
#include "restart.hpp"
#include "runtime_calls.hpp"

#include <utility>
#include <vector>

namespace sim {
namespace {

struct Entered {
    const Row *row;
    const Argument *arguments;
    unsigned int count;
    std::uint64_t number;
    CUresult after, async;
};

std::vector<Entered> &entered() {
    static thread_local std::vector<Entered> calls;
    return calls;
}
// The first of them, beside it: every call of the driver asks, and gets to it in a few instructions.
constinit thread_local ClientCall client;

int enter(const Row *row, const Argument *arguments, unsigned int count) {
    const std::lock_guard held(Lock::mutex());
    start_once();
    PlannedFault fault;
    const std::uint64_t number = in_runtime_call() ? client.number : Call::next_number();
    if (faults_planned()) {
        fault = consult_faults(*row);
    }
    entered().push_back({row, arguments, count, number, fault.after, fault.async});
    if (client.name == nullptr) {
        client = {row->name, number};
    }
    return static_cast<int>(fault.instead);
}

int leave(int status) {
    const std::lock_guard held(Lock::mutex());
    const Entered call = entered().back();
    entered().pop_back();
    if (entered().empty()) {
        client = {};
    }
    if (status == 0) {
        status = static_cast<int>(call.after);
    }
    if (log_enabled() && !in_runtime_call()) {
        log_call(call.number, *call.row, call.arguments, call.count, status);
    }
    return status;
}

std::uint64_t epoch() {
    return restarts();
}

void add_rows(const Row *rows, unsigned int count) {
    const std::lock_guard held(Lock::mutex());
    add_known_rows(rows, count);
}

constexpr Hooks hooks = {Hooks::current_interface, enter, leave, epoch, add_rows};

} // namespace

bool in_runtime_call() noexcept {
    return client.name != nullptr;
}

ClientCall runtime_call() noexcept {
    return client;
}

CUresult take_runtime_async_fault() noexcept {
    return in_runtime_call() ? std::exchange(entered().back().async, CUDA_SUCCESS) : CUDA_SUCCESS;
}

} // namespace sim

extern "C" SIM_EXPORT const sim::Hooks *cushim_sim_hooks() {
    return &sim::hooks;
}
