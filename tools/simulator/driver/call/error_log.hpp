// The driver's error log: a line for each call of the client's that failed, kept for cuLogsDump…
// and told to callbacks.
#pragma once

#include "base/cuda_headers.hpp"
#include "call/settings.hpp"

namespace sim {

// What becomes a line: no answer of the link stub's, and not that work is under way.
inline bool is_logged(int status) noexcept {
    return status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY && sim_variant_is_stub == 0;
}

} // namespace sim

#if CUDA_VERSION >= 12090

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sim {

using LogCallback = std::shared_ptr<CUlogsCallbackEntry_st>;

// What is to be told of one call, once it has given up the lock: callbacks are code of the
// client's.
class FailureNotice {
  public:
    FailureNotice() = default;
    FailureNotice(std::string text, std::vector<LogCallback> listeners)
        : text_(std::move(text)), listeners_(std::move(listeners)) {}
    // Outside any call of the runtime. Not within a callback of the same thread: calls in there may
    // fail, too.
    void give() noexcept;

  private:
    std::string text_;
    std::vector<LogCallback> listeners_;
};

// Writes down what a call answered, and how that is called (null where it has no name). With the
// lock held.
FailureNotice log_failure(const char *entry, int status, const char *name) noexcept;
FailureNotice log_failure(const char *entry, CUresult status) noexcept;
// Forgets all lines and callbacks.
void restart_error_log() noexcept;

} // namespace sim

#else // there is none

namespace sim {

struct FailureNotice {
    void give() noexcept {}
};
inline FailureNotice log_failure(const char *, int, const char *) noexcept {
    return {};
}
inline FailureNotice log_failure(const char *, CUresult) noexcept {
    return {};
}
inline void restart_error_log() noexcept {}

} // namespace sim

#endif
