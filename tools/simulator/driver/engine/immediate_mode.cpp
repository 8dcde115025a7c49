// Immediate mode: an operation runs as soon as it can, in the thread that made it runnable.
#include "engine/mode.hpp"
#include "engine/threads.hpp"

namespace sim {
namespace {

Ticket oldest_runnable() {
    const Engine &e = engine();
    Operation *oldest = e.ready.empty() ? nullptr : &e.ready.first();
    for (const Stream *stream : e.polling) {
        for (Operation *operation : stream->polled) {
            if ((oldest == nullptr || is_older(*operation, *oldest)) && is_runnable(*operation)) {
                oldest = operation;
            }
        }
    }
    return oldest != nullptr ? oldest->shared_from_this() : nullptr;
}

// Runs operations in the order of enqueueing until none can run.
void run_all() {
    while (Ticket operation = oldest_runnable()) {
        execute(std::move(operation));
    }
}

class ImmediateMode final : public RunMode {
  public:
    void prepare(Stream &, const Work &work) override {
        if (work.ready) {
            ensure_runner(); // it may have to wait
        }
    }
    void run_new_work() noexcept override {
        if (executing()) {
            return; // the enclosing run_all() runs work that a client function has enqueued
        }
        try {
            run_all();
        } catch (...) { // out of memory: the next call that enqueues or waits continues
        }
    }
    bool step(const Targets &) override {
        const std::uint64_t before = engine().progress;
        run_all();
        return engine().progress != before;
    }
    void before_query() override { run_all(); }
    void run_unwaited(const bool &) override { run_all(); }
    std::chrono::microseconds runner_pause() const override { return std::chrono::milliseconds(2); }
};

} // namespace

RunMode &immediate_mode() noexcept {
    static ImmediateMode mode;
    return mode;
}

} // namespace sim
