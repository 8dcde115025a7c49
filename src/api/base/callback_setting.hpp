// A callback that programs set, with its argument: the teardown sink, the error hook.
#pragma once

#include <atomic>

#include "fork_guard.hpp"

namespace cushim::detail {

template <class Setting>
class CallbackSetting {
  public:
    Setting current() noexcept {
        const LockGuard guard(lock_);
        return settings_[index_.load(std::memory_order_relaxed)];
    }
    // Returns the setting before.
    Setting exchange(Setting setting) noexcept {
        const LockGuard guard(lock_);
        const unsigned int before = index_.load(std::memory_order_relaxed);
        settings_[1 - before] = setting;
        index_.store(1 - before, std::memory_order_release);
        return settings_[before];
    }

  private:
    // The current one and the next: a fork during a change leaves the current one intact.
    Setting settings_[2] = {};
    std::atomic<unsigned int> index_{0};
    ForkLock lock_ = {};
};

} // namespace cushim::detail
