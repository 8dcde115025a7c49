#include "engine/threads.hpp"
#include "base/immortal.hpp"
#include "base/notes.hpp"
#include "base/platform.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "engine/mode.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace sim {

// The thread is detached: a program that ends by _exit(), or a child of fork, has no opportunity to
// join it, and leak checkers would report it.
struct Worker {
    Stream *stream = nullptr; // that it serves
    bool called = true;       // from the idle ones
    bool stop = false;
    std::condition_variable wake; // its own, so that only one wakes
    ListPlace<Worker> in_idle;
};

namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_idle{100};

using Line = LinkedList<Stream, &Stream::in_line>;
using Idle = LinkedList<Worker, &Worker::in_idle>;

struct Workers {
    std::vector<std::shared_ptr<Worker>> all; // that have not ended, and the runner
    std::shared_ptr<Worker> runner;
    std::size_t count = 0;  // without the runner
    std::size_t called = 0; // that were called or started and do not run yet
    Idle idle;
    Line line;            // streams without a worker whose operations may be able to run
    bool closed = false;  // no worker is called: they end
    bool is_full = false; // noted that there are most_workers
    bool forked = false;  // this process is a child, which lacks the threads
    bool exiting = false; // exit waits until nothing is enqueued
};

Workers &workers() noexcept {
    static Immortal<Workers> workers;
    return *workers;
}

// Ends a thread. The caller holds the lock; afterwards the thread only releases it and returns.
void end(const std::shared_ptr<Worker> &worker) {
    std::erase(workers().all, worker);
    Lock::changed().notify_all();
}

bool is_threaded() noexcept {
    return settings().mode == Mode::threaded;
}

void call_worker() noexcept;

// Runs what can run of the first stream in line.
void serve_first(Worker &self) {
    Stream &stream = *workers().line.first();
    Line::remove(stream);
    stream.served_by = &self;
    self.stream = &stream;
    while (self.stream != nullptr && is_threaded()) {
        Ticket operation = runnable_of(stream);
        if (operation == nullptr) {
            break;
        }
        if (workers().line.first() != nullptr) {
            call_worker(); // this one may be busy for long
        }
        execute(std::move(operation)); // may destroy the stream
    }
    if (self.stream != nullptr) {
        stream.served_by = nullptr;
        self.stream = nullptr;
    }
}

// Returns whether the worker was called before it was idle for too long.
bool wait_for_call(Worker &self, std::unique_lock<std::mutex> &lock) {
    self.called = false;
    workers().idle.add(self);
    self.wake.wait_for(lock, longest_idle, [&] { return self.called || self.stop; });
    Idle::remove(self);
    workers().called -= self.called ? 1 : 0;
    return self.called && !self.stop;
}

void work(const std::shared_ptr<Worker> &self) {
    std::unique_lock lock(Lock::mutex());
    --workers().called;
    do {
        while (!self->stop && is_threaded() && workers().line.first() != nullptr) {
            serve_first(*self);
        }
    } while (!self->stop && wait_for_call(*self, lock));
    --workers().count;
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
    workers().closed = true;
    for (const auto &worker : workers().all) {
        if (worker->stream != nullptr) {
            worker->stream->served_by = nullptr;
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

std::shared_ptr<Worker> begin(void (*function)(const std::shared_ptr<Worker> &)) {
    static const bool once = (prepare_process(), true);
    (void)once;
    auto worker = std::make_shared<Worker>();
    workers().all.push_back(worker);
    try {
        std::thread(function, worker).detach();
    } catch (...) { // the system cannot create a thread
        workers().all.pop_back();
        throw;
    }
    return worker;
}

void begin_worker() {
    begin(work);
    ++workers().count;
    ++workers().called;
}

// Another worker takes the first stream in line, unless one that was called will do so.
void call_worker() noexcept try {
    Workers &all = workers();
    if (all.called != 0 || all.closed || all.forked) {
        return;
    }
    if (Worker *idle = all.idle.first()) {
        Idle::remove(*idle);
        idle->called = true;
        ++all.called;
        idle->wake.notify_one();
    } else if (all.count < most_workers) {
        begin_worker();
    } else if (!std::exchange(all.is_full, true)) {
        note(std::to_string(most_workers) +
             " host functions and kernels run at the same time; others wait until one returns");
    }
} catch (...) { // no memory or no thread: a worker that returns, or a wait, continues
}

} // namespace

void ensure_worker() {
    workers().closed = false;
    if (workers().count == 0 && !workers().forked) {
        begin_worker();
    }
    if (workers().line.first() != nullptr) {
        call_worker();
    }
}

void put_in_line(Stream &stream) noexcept {
    if (!is_threaded() || stream.served_by != nullptr) {
        return;
    }
    if (!Line::contains(stream)) {
        workers().line.add(stream);
    }
    call_worker();
    if (workers().runner && !stream.polled.empty()) {
        workers().runner->wake.notify_one();
    }
}

void leave_line(Stream &stream) noexcept {
    Line::remove(stream);
    if (stream.served_by != nullptr) {
        stream.served_by->stream = nullptr;
        stream.served_by = nullptr;
    }
}

void ensure_runner() {
    if (!workers().runner && !workers().forked) {
        workers().runner = begin(run);
    }
}

bool exit_waits() noexcept {
    return workers().exiting;
}

void end_workers() {
    if (workers().forked) {
        while (Stream *first = workers().line.first()) {
            Line::remove(*first);
        }
        // Leaked on purpose: destroying a condition variable waits for the parent's threads.
        std::construct_at(&workers());
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
