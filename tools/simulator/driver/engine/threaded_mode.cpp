// Threaded mode: each stream has a worker, which runs its work beside the client.
#include "engine/mode.hpp"
#include "engine/threads.hpp"

namespace sim {
namespace {

class ThreadedMode final : public RunMode {
  public:
    void prepare(Stream &stream, const Work &) override {
        ensure_workers();
        ensure_worker(stream);
    }
    bool step(const Targets &) override {
        ensure_workers();
        return false;
    }
    bool runs_alone() const override {
        return !engine().ready.empty() || !runnable_polled().empty();
    }
    // The workers wake waiting threads.
    std::chrono::microseconds first_pause() const override { return std::chrono::milliseconds(5); }
    std::chrono::microseconds longest_pause() const override {
        return std::chrono::milliseconds(50);
    }
    void run_unwaited(const bool &) override {}
    std::chrono::milliseconds runner_pause() const override {
        return std::chrono::milliseconds(50);
    }
    void leave() noexcept override { all_have_workers_ = false; }
    // The worker of one stream may notice the mode first and do all that the client waits for.
    void enter() noexcept override {
        for (const Stream *stream : engine().busy) {
            wake_worker(*stream);
        }
    }

  private:
    // For streams that got work in another mode.
    void ensure_workers() {
        if (!all_have_workers_) {
            for (Stream *stream : engine().busy) {
                ensure_worker(*stream);
                wake_worker(*stream);
            }
            all_have_workers_ = true;
        }
    }

    bool all_have_workers_ = false; // every stream with work
};

} // namespace

RunMode &threaded_mode() noexcept {
    static ThreadedMode mode;
    return mode;
}

} // namespace sim
