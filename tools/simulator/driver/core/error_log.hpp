// The driver's error log: a line for each call that failed, kept for cuLogsDump… and told to callbacks.
#pragma once

#include "cuda_headers.hpp"

#include <string>
#include <utility>
#include <vector>

#if CUDA_VERSION >= 12090

namespace sim {

// What is to be told of one call, once it has given up the lock: callbacks are code of the client's.
class FailureNotice {
  public:
    FailureNotice() = default;
    FailureNotice(std::string text, std::vector<std::pair<CUlogsCallback, void *>> listeners)
        : text_(std::move(text)), listeners_(std::move(listeners)) {}
    // Not within a callback of the same thread: calls in there may fail, too.
    void give() noexcept;

  private:
    std::string text_;
    std::vector<std::pair<CUlogsCallback, void *>> listeners_;
};

// Writes down what a call answered. With the lock held.
FailureNotice log_failure(const char *entry, CUresult status) noexcept;
// Forgets all lines and callbacks.
void restart_error_log() noexcept;

} // namespace sim

#endif
