// Helpers for tests of lifetimes: closures that report their destruction, and gates that hold up
// streams.
#pragma once

#include "../../support/workplace.hpp"
#include "scenario.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace api_test {

using support::Workplace;

// Whether the predicate becomes true within seconds.
template <class Predicate>
bool soon(const Predicate &predicate) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!predicate()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// Makes closures, counts their calls, and reports whether all are destroyed.
class Watched {
  public:
    auto closure() {
        return [count = count_] { ++*count; };
    }
    bool is_destroyed() const { return count_.use_count() == 1; }
    // CUDA releases resources on its own thread, a little later.
    bool is_destroyed_soon() const {
        return soon([this] { return is_destroyed(); });
    }
    int calls() const { return *count_; }

  private:
    std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
};

// Holds up a stream until the gate is opened.
class Gate {
  public:
    // Waits for the resources of earlier tests: while any host function runs, driver 580 destroys
    // no context, and a thread that destroys one would hold up the test.
    Gate() { cushim::wait_for_released_closures(); }

    cushim::Result<void> close(const cushim::Stream &stream) const {
        return stream.launch_host_function([open = open_] {
            while (!*open) {
                std::this_thread::yield();
            }
        });
    }
    void open() const { *open_ = true; }
    ~Gate() { open(); }
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;

  private:
    std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

} // namespace api_test
