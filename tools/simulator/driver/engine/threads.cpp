#include "engine/threads.hpp"
#include "base/immortal.hpp"
#include "base/notes.hpp"
#include "base/platform.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "engine/mode.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace sim {

// Shared by a thread and its stream, either of which may end first. The thread is detached: a
// program that ends by _exit(), or a child of fork, has no opportunity to join it, and leak
// checkers would report it.
struct Worker {
    Stream *stream = nullptr; // null for the runner
    bool stop = false;
    std::condition_variable wake; // its own, so that work of one stream does not wake all workers
};

namespace {

using std::chrono::milliseconds;

constexpr auto poll_interval =
    std::chrono::microseconds(200); // interval between calls of Work::ready

struct Workers {
    std::vector<std::shared_ptr<Worker>> all; // workers that have not ended
    std::shared_ptr<Worker> runner;
    bool forked = false;  // this process is a child, which lacks the threads
    bool exiting = false; // exit waits until nothing is enqueued
};

Workers &workers() noexcept {
    static Immortal<Workers> workers;
    return *workers;
}

// Ends a worker. The caller holds the lock; afterwards the thread only releases it and returns.
void end(const std::shared_ptr<Worker> &worker) {
    std::erase(workers().all, worker);
    Lock::changed().notify_all();
}

// Sleeps unless an operation of the stream can run. All that makes one ready wakes it; time and
// other processes make a polled one runnable.
void work(const std::shared_ptr<Worker> &self) {
    std::unique_lock lock(Lock::mutex());
    while (!self->stop) {
        if (&run_mode() == &threaded_mode()) {
            if (Ticket operation = runnable_of(*self->stream)) {
                execute(std::move(operation)); // may destroy the stream
                continue;
            }
            if (!self->stream->polled.empty()) {
                self->wake.wait_for(lock, poll_interval);
                continue;
            }
        }
        self->wake.wait(lock);
    }
    end(self);
}

void run(const std::shared_ptr<Worker> &self) {
    constexpr milliseconds idle_pause{50};
    std::unique_lock lock(Lock::mutex());
    while (!self->stop) {
        self->wake.wait_for(lock, engine().busy.empty() ? idle_pause : run_mode().runner_pause());
        if (!self->stop && !engine().busy.empty()) {
            run_mode().run_unwaited(self->stop);
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
}

// How long the exit waits for enqueued work.
constexpr std::chrono::seconds longest_exit{2};

// At exit, waits for enqueued work. Destroyed graphs that still run and uncalled closures release
// their resources once the work is done; without the wait, the report would list these as leaks.
// Work that calls exit() itself cannot be waited for.
void finish_queued(std::unique_lock<std::mutex> &lock) {
    if (settings().report == Report::none || executing()) {
        return;
    }
    workers().exiting = true;
    if (workers().runner) {
        workers().runner->wake.notify_all();
    }
    if (!Lock::changed().wait_for(lock, longest_exit, [] { return engine().busy.empty(); })) {
        note("enqueued work was not done 2 seconds after exit began: its memory is reported as "
             "leaked");
    }
}

// Stops all work at exit, unless the threads are gone already. A worker inside a client function is
// abandoned. This precedes exit handlers of code that called cuInit before it enqueued work.
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
    platform::stay_loaded(); // detached threads may return through this library's code at any time
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
    } catch (...) { // the system cannot create a thread
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

void wake_worker(const Stream &stream) noexcept {
    if (stream.worker && !workers().forked) {
        stream.worker->wake.notify_one();
    }
}

void ensure_runner() {
    if (!workers().runner && !workers().forked) {
        workers().runner = begin(nullptr, run);
    }
}

bool exit_waits() noexcept {
    return workers().exiting;
}

void release_worker(Stream &stream) noexcept {
    if (stream.worker) {
        stream.worker->stream = nullptr;
        stream.worker->stop = true;
        wake_worker(stream);
        stream.worker.reset();
    }
}

void end_workers() {
    if (workers().forked) {
        // Leaked on purpose: destroying a condition variable waits for the parent's threads.
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
        misuse("a host function or kernel is still running long after the simulator was reset");
    }
    lock.release();
}

} // namespace sim
