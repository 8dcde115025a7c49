// Collects what destructors report during the lifetime of the object, in place of the previous
// sink.
#pragma once

#include <cushim/teardown.hpp>

#include <mutex>
#include <string>
#include <vector>

namespace api_test {

class Reports {
  public:
    Reports()
        : before_(
              cushim::set_teardown_sink({[](const cushim::TeardownFailure &failure, void *user) {
                                             auto *const reports = static_cast<Reports *>(user);
                                             const std::lock_guard lock(reports->mutex_);
                                             reports->failures.push_back(failure);
                                         },
                                         this})) {}
    ~Reports() { cushim::set_teardown_sink(before_); }
    Reports(const Reports &) = delete;
    Reports &operator=(const Reports &) = delete;

    // Safe while other threads report.
    bool empty() const {
        const std::lock_guard lock(mutex_);
        return failures.empty();
    }

    // The entry points that failed, in order.
    std::vector<std::string> names() const {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> all;
        for (const cushim::TeardownFailure &failure : failures) {
            all.emplace_back(failure.entry_point);
        }
        return all;
    }

    // For messages: "cuMemFree_v2: 999" for each failure.
    std::vector<std::string> lines() const {
        std::vector<std::string> all = names();
        for (std::size_t index = 0; index < all.size(); ++index) {
            all[index] += ": " + std::to_string(failures[index].status);
        }
        return all;
    }

    std::vector<cushim::TeardownFailure> failures;

  private:
    mutable std::mutex mutex_;
    cushim::TeardownSinkSetting before_;
};

} // namespace api_test
