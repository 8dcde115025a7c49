// The order in which operations of streams run, noted by host functions.
#pragma once

#include "handles.hpp"

#include <deque>
#include <mutex>

namespace sim_test {

class RunOrder {
  public:
    // Enqueues the operation with that number.
    CUresult launch(CUstream stream, int number) {
        return driver().cuLaunchHostFunc(stream, note, entry(number));
    }
    // Enqueues operations with the numbers [0, count).
    void launch_many(CUstream stream, int count) {
        for (int number = 0; number < count; ++number) {
            require_ok(launch(stream, number));
        }
    }
    // The argument of note(), for other ways to enqueue it.
    void *entry(int number) {
        const std::lock_guard held(mutex_);
        entries_.push_back({this, number});
        return &entries_.back();
    }
    static void CUDA_CB note(void *entry) {
        const auto *given = static_cast<const Entry *>(entry);
        const std::lock_guard held(given->order->mutex_);
        given->order->ran_.push_back(given->number);
    }

    std::vector<int> ran() const {
        const std::lock_guard held(mutex_);
        return ran_;
    }
    bool has(int number) const {
        const auto all = ran();
        return std::find(all.begin(), all.end(), number) != all.end();
    }

  private:
    struct Entry {
        RunOrder *order;
        int number;
    };
    mutable std::mutex mutex_;
    std::deque<Entry> entries_;
    std::vector<int> ran_;
};

inline std::string adversarial(unsigned int seed) {
    return "mode=adversarial;seed=" + std::to_string(seed);
}

} // namespace sim_test
