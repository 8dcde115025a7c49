#include "call/runtime_calls.hpp"
#include "call/call_log.hpp"
#include "call/error_log.hpp"
#include "call/failed_calls.hpp"
#include "call/faults.hpp"
#include "call/startup.hpp"

#include <utility>

namespace sim {
namespace {

// The calling thread's innermost runtime call, and the outermost one that the client made. Every
// driver call reads the latter, within a few instructions. Both are trivially destroyed, so they
// work until the thread ends.
constinit thread_local RuntimeFrame *innermost = nullptr;
constinit thread_local ClientCall client;

// The driver's error log lacks errors that the runtime detects itself or recovers from.
FailureNotice end_outermost(const RuntimeFrame &frame, int status) {
    const ClientCall ended = std::exchange(client, {});
    if (log_enabled()) {
        log_call(frame.number, *frame.row, frame.arguments, frame.count, status);
    }
    note_status(*frame.row, frame.number, frame.arguments, frame.count, status);
    if (!ended.refused) {
        return {};
    }
    if (is_logged(status)) {
        return log_failure(frame.row->base, status, frame.status_name(status));
    }
    forget_reasons();
    return {};
}

} // namespace

bool in_runtime_call() noexcept {
    return client.name != nullptr;
}

ClientCall runtime_call() noexcept {
    return client;
}

void note_refusal() noexcept {
    client.refused = true;
}

ClientCall exchange_runtime_call(ClientCall call) noexcept {
    return std::exchange(client, call);
}

CUresult take_runtime_async_fault() noexcept {
    return in_runtime_call() ? std::exchange(innermost->fault.async, CUDA_SUCCESS) : CUDA_SUCCESS;
}

int enter_runtime_call(RuntimeFrame *frame) {
    const std::lock_guard held(Lock::mutex());
    start_once();
    frame->outermost = !in_runtime_call();
    frame->number = frame->outermost ? Call::next_number() : client.number;
    if (faults_planned() && frame->outermost) {
        frame->fault = consult_faults(*frame->row);
    }
    frame->outer = innermost;
    innermost = frame;
    if (frame->outermost) {
        client = {frame->row->name, frame->number};
    }
    return static_cast<int>(frame->fault.instead);
}

int leave_runtime_call(RuntimeFrame *frame, int status) {
    FailureNotice notice;
    {
        const std::lock_guard held(Lock::mutex());
        innermost = frame->outer;
        if (status == 0) {
            status = static_cast<int>(frame->fault.after);
        }
        if (frame->fault.async != CUDA_SUCCESS) {
            note_unused(frame->fault, frame->row->name, frame->number);
        }
        if (frame->outermost) {
            notice = end_outermost(*frame, status);
        }
    }
    notice.give();
    return status;
}

} // namespace sim
