// Waiting for operations in every mode, and deadlock detection.
#include "call/call.hpp"
#include "call/faults.hpp"
#include "call/misuse.hpp"
#include "engine/context.hpp"
#include "engine/mode.hpp"
#include "engine/pool.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

namespace sim {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// The host observes that the operation is done.
void note_seen(const Operation &operation) {
    engine().host_ns = std::max(engine().host_ns, operation.time_ns);
}

// Removes finished operations at the end. So each is looked at once, however long the wait is.
void forget_done(std::vector<Ticket> &targets) {
    for (; !targets.empty() && targets.back()->done; targets.pop_back()) {
        note_seen(*targets.back());
    }
}

// The unfinished operations, among the targets and their predecessors, whose predecessors are done.
std::vector<Ticket> stuck_of(const std::vector<Ticket> &targets) {
    std::vector<Ticket> stuck, pending;
    std::unordered_set<const Operation *> seen;
    const auto visit = [&](const Ticket &ticket) {
        if (!ticket->done && seen.insert(ticket.get()).second) {
            pending.push_back(ticket);
        }
    };
    for (const Ticket &target : targets) {
        visit(target);
    }
    while (!pending.empty()) {
        const Ticket operation = pending.back();
        pending.pop_back();
        if (operation->waits_for == 0) {
            stuck.push_back(operation);
        }
        for (const Ticket &earlier : operation->after) {
            visit(earlier);
        }
    }
    std::sort(stuck.begin(), stuck.end(),
              [](const Ticket &a, const Ticket &b) { return a->number < b->number; });
    return stuck;
}

// Ends operations in a deadlock as a watchdog would: their contexts fail.
void report_deadlock(const std::vector<Ticket> &stuck) {
    std::string text = "deadlock: ";
    const Call *call = Call::current();
    text += call ? call->name() : "the simulator";
    text += " waits for";
    for (std::size_t i = 0; i < stuck.size(); ++i) {
        text += (i == 0 ? " " : ", ") + describe(*stuck[i]);
    }
    text += ", and no runnable work can complete it";
    misuse(text);
    for (const Ticket &operation : stuck) {
        if (operation->done || operation->running) {
            continue;
        }
        fail_context(*operation->stream->context, CUDA_ERROR_LAUNCH_TIMEOUT);
        finish(operation, CUDA_ERROR_LAUNCH_TIMEOUT);
    }
}

// Whether the operations may still make progress: another thread may run them, write the memory or
// signal the semaphore that they wait for.
bool may_progress(const std::vector<Ticket> &stuck) {
    const std::size_t own = executing() ? 1 : 0;
    return engine().running > own ||
           std::any_of(stuck.begin(), stuck.end(), [](const Ticket &operation) {
               return !operation->running && (operation->work.ready || is_runnable(*operation));
           });
}

// Called repeatedly once nothing has made progress for a while. Returns whether it ended an
// operation.
bool end_deadlock(const std::vector<Ticket> &targets, Clock::time_point moved) {
    const std::vector<Ticket> stuck = stuck_of(targets);
    // Work that is running may take as long as it likes: it is client code.
    const bool running =
        std::any_of(stuck.begin(), stuck.end(), [](const Ticket &t) { return t->running; });
    const auto patience = std::chrono::milliseconds(settings().patience_ms);
    const bool waited_enough = !running && !call_hangs() && Clock::now() - moved > patience;
    if (!waited_enough && may_progress(stuck)) {
        return false;
    }
    report_deadlock(stuck);
    if (std::any_of(stuck.begin(), stuck.end(), [](const Ticket &t) { return !t->done; })) {
        refuse(CUDA_ERROR_LAUNCH_TIMEOUT); // the operation waits for itself
    }
    return true;
}

// Counts waiting threads.
class Waiting {
  public:
    Waiting() noexcept { ++engine().waiting; }
    ~Waiting() { --engine().waiting; }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;
};

// Waits for work of a context and returns its error.
void wait_all(Context &context, std::vector<Ticket> work) {
    wait_for(std::move(work));
    release_unused_pool_memory();
    check_still_usable(&context);
    const CUresult error = take_error(context);
    require(error == CUDA_SUCCESS, error);
}

} // namespace

Targets::Targets(std::vector<Ticket> its_operations) : operations(std::move(its_operations)) {
    static std::uint64_t count = 0; // guarded by the lock
    number = ++count;
}

void wait_for(std::vector<Ticket> operations) {
    const Waiting waiting;
    Targets targets(std::move(operations));
    std::uint64_t progress = 0; // unknown
    Clock::time_point moved;
    microseconds pause{};
    for (;;) {
        forget_done(targets.operations);
        if (targets.operations.empty()) {
            return;
        }
        if (run_mode().step(targets)) {
            continue;
        }
        if (engine().progress != progress) {
            progress = engine().progress;
            moved = Clock::now();
            pause = run_mode().first_pause();
        } else if (end_deadlock(targets.operations, moved)) {
            continue;
        }
        std::unique_lock lock(Lock::mutex(), std::adopt_lock);
        Lock::changed().wait_for(lock, pause);
        lock.release();
        pause = std::min(pause * 2, run_mode().longest_pause());
    }
}

void wait_until(const std::function<bool()> &condition, const char *what) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(settings().patience_ms);
    while (!condition()) {
        if (Clock::now() > deadline) {
            misuse(std::string("deadlock: ") + what +
                   " waits for a condition that never becomes true");
            refuse(CUDA_ERROR_LAUNCH_TIMEOUT);
        }
        std::unique_lock lock(Lock::mutex(), std::adopt_lock);
        Lock::changed().wait_for(lock, microseconds(200));
        lock.release();
    }
}

bool poll(std::vector<Ticket> operations) {
    run_mode().before_query();
    Targets targets(std::move(operations));
    std::erase_if(targets.operations, [](const Ticket &ticket) {
        if (ticket->done) {
            note_seen(*ticket);
        }
        return ticket->done;
    });
    if (!targets.operations.empty()) {
        run_mode().query(targets);
        return false;
    }
    run_mode().query_of_finished();
    return true;
}

CUresult take_error(CUctx_st &context) {
    CUresult error = CUDA_SUCCESS;
    for_each_group(context, [&error](StreamGroup &group) {
        if (error == CUDA_SUCCESS) {
            error = std::exchange(group.error, CUDA_SUCCESS);
        }
    });
    return error;
}

CUresult wait(Ticket ticket) {
    if (!ticket) {
        return CUDA_SUCCESS;
    }
    if (ticket->done) {
        note_seen(*ticket);
    } else {
        wait_for({ticket});
    }
    const auto group = engine().groups.find(ticket->context);
    if (group != engine().groups.end() && group->second.error == ticket->result) {
        group->second.error = CUDA_SUCCESS; // it is reported once
    }
    return ticket->result;
}

bool finished(Ticket ticket) {
    if (ticket && !ticket->done) {
        return poll({std::move(ticket)});
    }
    if (ticket) {
        note_seen(*ticket);
    }
    run_mode().query_of_finished();
    return true;
}

void wait_stream(CUstream_st &stream) {
    wait_all(context_of(stream), queued_in(stream)); // the stream may be destroyed meanwhile
}

void wait_context(CUctx_st &context) {
    wait_all(context, all_queued(context));
}

bool idle(CUstream_st &stream) {
    return poll(queued_in(stream));
}

std::size_t drain() {
    const Targets all;
    while (engine().queued != 0) {
        const bool active = engine().running != 0 || run_mode().runs_alone();
        if (!run_mode().step(all) && !active) {
            break;
        }
        if (active) {
            std::unique_lock lock(Lock::mutex(), std::adopt_lock);
            Lock::changed().wait_for(lock, std::chrono::milliseconds(1));
            lock.release();
        }
    }
    return engine().queued;
}

} // namespace sim
