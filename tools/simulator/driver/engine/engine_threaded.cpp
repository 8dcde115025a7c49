// The engine's threads: threaded mode's workers, one per stream that ever got work, and the runner,
// which sees to it that work goes on when nobody waits.
#include "base/immortal.hpp"
#include "base/notes.hpp"
#include "base/platform.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "engine/engine.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace sim {

// Shared by its thread and its stream, whichever lives longer. The thread is a detached one: a
// client that ends by _exit(), or in a child of fork, gives nobody the time to join it, and tools
// that look for threads that were forgotten would find ours in his program.
struct Worker {
    Stream *stream = nullptr; // null for the runner
    bool stop = false;
    std::condition_variable wake; // of the runner, which has no use for every change
};

namespace {

using std::chrono::milliseconds;

constexpr auto ask_again = std::chrono::microseconds(200); // for what Work::ready says

struct Workers {
    std::vector<std::shared_ptr<Worker>> all; // that have not ended
    std::shared_ptr<Worker> runner;
    bool forked = false;  // this process is the child: it has none of the threads
    bool exiting = false; // the exit waits until nothing is queued
};

Workers &workers() noexcept {
    static Immortal<Workers> workers;
    return *workers;
}

// Whether its stream has something that only time, or somebody else, makes runnable.
bool has_external(const Stream &stream) {
    return std::any_of(stream.queue.begin(), stream.queue.end(), [](const Ticket &operation) {
        return operation->work.ready && !operation->running && operation->after.empty();
    });
}

// With the lock held; all that the thread does from then on is to give it up, and return.
void end(const std::shared_ptr<Worker> &worker) {
    std::erase(workers().all, worker);
    Lock::changed().notify_all();
}

void work(const std::shared_ptr<Worker> &self) {
    std::unique_lock lock(Lock::mutex());
    while (!self->stop) {
        if (settings().mode == Mode::threaded) {
            if (Ticket operation = runnable_of(*self->stream)) {
                execute(std::move(operation)); // the stream may be gone now
                continue;
            }
            if (has_external(*self->stream)) {
                Lock::changed().wait_for(lock, ask_again);
                continue;
            }
        }
        Lock::changed().wait(lock);
    }
    end(self);
}

// Counts the runner's own looks rather than the clock: a process that gets no time is not a stalled
// one.
class Stall {
  public:
    static constexpr unsigned int looks = 20;

    // A look; whether the program has done nothing for all of the time.
    bool lasts() noexcept {
        const bool moved = std::exchange(progress_, engine().progress) != engine().progress;
        const bool cared_for = engine().waiting != 0 || engine().running != 0;
        count_ = moved || cared_for ? 0 : count_ + 1;
        return count_ >= looks;
    }
    // What has moved was the runner's own doing.
    void own_step() noexcept { progress_ = engine().progress; }

  private:
    std::uint64_t progress_ = 0;
    unsigned int count_ = 0;
};

// Tells of a function of the client's that does not come back. One that waits for work of another
// stream never does in adversarial mode: it runs in a thread that waits, and nothing runs beside
// it.
class Watch {
  public:
    void look() {
        const bool moved = std::exchange(progress_, engine().progress) != engine().progress;
        if (moved || engine().running == 0) {
            since_ = Clock::now();
            told_ = false;
        } else if (!told_ && Clock::now() - since_ > milliseconds(settings().patience_ms)) {
            told_ = true;
            tell();
        }
    }

  private:
    using Clock = std::chrono::steady_clock;

    // At once, too: whoever hangs gets to no report.
    static void tell() {
        for (const Stream *stream : engine().busy) {
            for (const Ticket &operation : stream->queue) {
                if (operation->running) {
                    const std::string text =
                        describe(*operation) + " has run for " +
                        std::to_string(settings().patience_ms) +
                        " ms (setting 'patience'), and nothing runs beside it in this mode:" +
                        " if it waits for work of another stream, it waits for ever";
                    std::fprintf(stderr, "cushim-sim: %s\n", text.c_str());
                    note(text);
                }
            }
        }
    }

    std::uint64_t progress_ = 0;
    Clock::time_point since_ = Clock::now();
    bool told_ = false;
};

// How long the runner sleeps.
milliseconds pause() {
    if (engine().busy.empty() || settings().mode == Mode::threaded) {
        return milliseconds(50);
    }
    return settings().mode == Mode::immediate || workers().exiting
               ? milliseconds(2)
               : std::max(milliseconds(1), milliseconds(settings().stall_ms / Stall::looks));
}

// Runs what is queued, since the program may wait for it without a call.
void run_stalled(const Worker &self, Stall &stall) {
    std::size_t count = 0;
    for (; !self.stop && adversarial_step({}); ++count) {
        stall.own_step();
    }
    if (count != 0) {
        note("no call queued work or waited for it for " + std::to_string(settings().stall_ms) +
             " ms, so " + std::to_string(count) +
             " operations that were queued ran by themselves:" +
             " what came first, they or the program, was up to the clock (setting 'stall')");
    }
}

void run(const std::shared_ptr<Worker> &self) {
    std::unique_lock lock(Lock::mutex());
    Stall stall;
    Watch watch;
    while (!self->stop) {
        self->wake.wait_for(lock, pause());
        if (self->stop) {
            break;
        }
        if (engine().busy.empty()) {
            continue;
        }
        if (settings().mode == Mode::immediate) {
            run_all();
        } else if (settings().mode == Mode::adversarial) {
            watch.look();
            while (workers().exiting && !self->stop && adversarial_step({})) {
            }
            if (settings().stall_ms != 0 && stall.lasts()) {
                run_stalled(*self, stall);
            }
        }
    }
    end(self);
}

bool all_ended() {
    return workers().all.empty();
}

void stop_all() {
    for (const auto &worker : workers().all) {
        if (worker->stream != nullptr) {
            worker->stream->worker.reset();
            worker->stream = nullptr;
        }
        worker->stop = true;
        worker->wake.notify_all();
    }
    workers().runner.reset();
    Lock::changed().notify_all();
}

// How long the exit waits for queued work.
constexpr std::chrono::seconds longest_exit{2};

// Graphs that were destroyed while they run, and closures that were not called yet, are released
// once their work is done: the report would call what they own leaked. An operation that calls
// exit() cannot be waited for.
void finish_queued(std::unique_lock<std::mutex> &lock) {
    if (settings().report == Report::none || executing()) {
        return;
    }
    workers().exiting = true;
    if (workers().runner) {
        workers().runner->wake.notify_all();
    }
    Lock::changed().notify_all();
    if (!Lock::changed().wait_for(lock, longest_exit, [] { return engine().busy.empty(); })) {
        note("queued work was not done 2 seconds after the exit began: its memory is reported as "
             "leaked");
    }
}

// At the end of the process no work runs any more, unless its threads are gone already. One that
// the client's own function keeps is let go: it never comes back. This comes before the exit
// handlers of code that called cuInit before it queued work.
struct AtExit {
    ~AtExit() {
        if (workers().forked || !platform::threads_run_at_exit() || !Lock::take_at_exit()) {
            return;
        }
        std::unique_lock lock(Lock::mutex(), std::adopt_lock);
        finish_queued(lock);
        stop_all();
        Lock::changed().wait_for(lock, std::chrono::seconds(1), all_ended);
    }
};

void prepare_process() {
    platform::after_fork_in_child([] { workers().forked = !workers().all.empty(); });
    platform::stay_loaded(); // the threads return through this library's code, which nobody waits
                             // for
    static const AtExit at_exit;
}

std::shared_ptr<Worker> begin(Stream *stream, void (*function)(const std::shared_ptr<Worker> &)) {
    static const bool once = (prepare_process(), true);
    (void)once;
    auto worker = std::make_shared<Worker>();
    worker->stream = stream;
    workers().all.push_back(worker);
    try {
        std::thread(function, worker).detach();
    } catch (...) { // the system has no thread left
        workers().all.pop_back();
        throw;
    }
    return worker;
}

} // namespace

void ensure_worker(Stream &stream) {
    if (!stream.worker && !workers().forked) {
        stream.worker = begin(&stream, work);
    }
}

void ensure_runner() {
    if (!workers().runner && !workers().forked) {
        workers().runner = begin(nullptr, run);
    }
}

void release_worker(Stream &stream) noexcept {
    if (stream.worker) {
        stream.worker->stream = nullptr;
        stream.worker->stop = true;
        stream.worker.reset();
        Lock::changed().notify_all();
    }
}

void end_workers() {
    if (workers().forked) {
        // What the parent's threads wait for cannot be destroyed here: it would wait for them.
        (void)new auto(std::move(workers().all));
        workers() = Workers();
        return;
    }
    if (workers().all.empty()) {
        return;
    }
    stop_all();
    std::unique_lock lock(Lock::mutex(), std::adopt_lock);
    const auto patience = milliseconds(settings().patience_ms);
    if (!Lock::changed().wait_for(lock, patience, all_ended)) {
        misuse("a host function or kernel still runs, long after its simulator was to stop");
    }
    lock.release();
}

} // namespace sim
