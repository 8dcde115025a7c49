// The driver's error log: for each failed call of the client, its reasons and its status. Lines are
// kept for cuLogsDump… and passed to callbacks.
#pragma once

#include "base/cuda_headers.hpp"
#include "call/settings.hpp"

namespace sim {

// Every failure is logged, except NOT_READY. The link stub logs nothing.
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

// The notification of one failed call. It is delivered after the call has released the lock, since
// callbacks are client code.
class FailureNotice {
  public:
    FailureNotice() = default;
    FailureNotice(std::string text, std::vector<LogCallback> listeners)
        : text_(std::move(text)), listeners_(std::move(listeners)) {}
    // Delivers it. The caller is outside any runtime call. Does nothing inside a callback of the
    // same thread, where calls may fail too.
    void give() noexcept;

  private:
    std::string text_;
    std::vector<LogCallback> listeners_;
};

// Logs the status of a call and the status's name (null if it has none). The caller holds the lock.
FailureNotice log_failure(const char *entry, int status, const char *name) noexcept;
FailureNotice log_failure(const char *entry, CUresult status) noexcept;
// Discards all lines and callbacks.
void restart_error_log() noexcept;

} // namespace sim

#else

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
