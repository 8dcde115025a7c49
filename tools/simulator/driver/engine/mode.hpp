// How the engine runs enqueued work. Each mode is an object with its own state, which exists for
// the whole process: immediate_mode.cpp, threaded_mode.cpp, adversarial_mode.cpp. The setting
// `mode` selects one, and may change while work is enqueued. All functions are called with the lock
// held.
#pragma once

#include "engine/engine.hpp"

#include <chrono>

namespace sim {

class RunMode {
  public:
    RunMode() = default;
    RunMode(const RunMode &) = delete;
    RunMode &operator=(const RunMode &) = delete;

    // --- of the selected mode, for calls of the client
    // The stream gets this work: starts the threads that the mode needs. May fail.
    virtual void prepare(Stream &stream, const Work &work) = 0;
    // The work is in the queue.
    virtual void run_new_work() noexcept {}
    // Takes a step towards the targets. Returns false if this thread cannot do so now. Without
    // targets, any operation counts as needed.
    virtual bool step(const Targets &targets) = 0;
    // A call queries work. Then one of the next two: it is not done, or it is done.
    virtual void before_query() {}
    virtual void query(const Targets &targets) { step(targets); }
    virtual void query_of_finished() {}
    // Whether some work will run without another step.
    virtual bool runs_alone() const { return false; }
    // How long a waiting thread sleeps before it checks again: at first, and at most.
    virtual std::chrono::microseconds first_pause() const { return std::chrono::microseconds(20); }
    virtual std::chrono::microseconds longest_pause() const { return std::chrono::milliseconds(1); }

    // --- of the selected mode, for the runner (threads.hpp) while there is unfinished work
    // Runs work that no call waits for, until no work is left or `stop` is set.
    virtual void run_unwaited(const bool &stop) = 0;
    virtual std::chrono::microseconds runner_pause() const = 0;

    // --- of every mode, whichever is selected
    // The operation is being enqueued, after those that it waits for. Makes room, so that ready()
    // need not allocate. May fail.
    virtual void enqueue(Operation &) {}
    virtual void busy(Stream &) noexcept {} // the stream has work again
    // The operation can run, or no longer can since it runs or is dropped. Not for polled ones.
    virtual void ready(Operation &) noexcept {}
    virtual void not_ready(Operation &) noexcept {}
    // The setting selected this mode.
    virtual void enter() noexcept {}
    // A reset: all queues are empty.
    virtual void restart() noexcept {}

  protected:
    ~RunMode() = default;
};

RunMode &immediate_mode() noexcept;
RunMode &threaded_mode() noexcept;
RunMode &adversarial_mode() noexcept;
// In adversarial mode: a number below `count` that the seed determines.
std::size_t draw(std::size_t count) noexcept;
// The selected mode.
RunMode &run_mode() noexcept;

void for_each_mode(const auto &function) {
    function(immediate_mode());
    function(threaded_mode());
    function(adversarial_mode());
}

} // namespace sim
