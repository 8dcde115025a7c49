// What tests of lifetimes watch: closures that tell whether they are there, and streams that are
// held up.
#pragma once

#include "../../support/workplace.hpp"
#include "scenario.hpp"

#include <atomic>
#include <memory>
#include <thread>

namespace api_test {

using support::Workplace;

// A closure that counts its calls, and whether it is still there.
class Watched {
  public:
    auto closure() {
        return [count = count_] { ++*count; };
    }
    bool is_gone() const { return count_.use_count() == 1; }
    int calls() const { return *count_; }

  private:
    std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
};

// Holds a stream up until it is opened.
class Gate {
  public:
    // What the tests before have let go is gone then: driver 580 destroys no context while a host
    // function runs, be it of another one, and who destroys it is whom the test waits for.
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
