// Threaded mode: workers run the work of streams beside the client.
#include "engine/mode.hpp"
#include "engine/threads.hpp"

namespace sim {
namespace {

using std::chrono::milliseconds;

class ThreadedMode final : public RunMode {
  public:
    void prepare(Stream &, const Work &work) override {
        ensure_worker();
        if (work.ready) {
            ensure_runner(); // it polls
        }
    }
    bool step(const Targets &) override {
        ensure_worker();
        return false;
    }
    bool runs_alone() const override {
        return !engine().ready.empty() || !runnable_polled().empty();
    }
    // The workers wake waiting threads.
    std::chrono::microseconds first_pause() const override { return milliseconds(5); }
    std::chrono::microseconds longest_pause() const override { return milliseconds(50); }
    void run_unwaited(const bool &) override {
        for (const Operation *operation : runnable_polled()) {
            put_in_line(*operation->stream);
        }
    }
    std::chrono::microseconds runner_pause() const override {
        return engine().polling.empty() ? milliseconds(50) : std::chrono::microseconds(200);
    }
    // Streams may have got work in another mode, which may have needed no runner.
    void enter() noexcept override {
        for (Stream *stream : engine().busy) {
            put_in_line(*stream);
        }
    }
};

} // namespace

RunMode &threaded_mode() noexcept {
    static ThreadedMode mode;
    return mode;
}

} // namespace sim
