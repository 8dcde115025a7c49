// Handles of other APIs, checked before the driver call; and descriptors with well-defined
// ownership during the call.
#pragma once

#include <cushim/unique_fd.hpp>
#include <cushim/win32_handle.hpp>

#include "base/platform/platform.hpp"

namespace cushim::detail {

// Fail unless this system has such handles and this one may be valid. `otherwise` is the message of
// other systems.
Result<void> check_win32(Win32Handle handle, const char *otherwise) noexcept;
Result<void> check_fd(const UniqueFd &fd, const char *otherwise) noexcept;

/* A duplicate of a descriptor, for a call that takes ownership on success. On failure, drivers may
 * or may not have closed it (580 does either, depending on the reason). Closing a number that
 * another thread has reused would be fatal, so the destructor checks that the number still refers
 * to the open file of the original. The original must outlive this object. */
class LentDescriptor {
  public:
    LentDescriptor() noexcept = default;
    // Errors: those of check_fd() and UniqueFd::duplicate().
    static Result<LentDescriptor> of(const UniqueFd &original, const char *otherwise) noexcept;
    LentDescriptor(LentDescriptor &&other) noexcept;
    LentDescriptor &operator=(LentDescriptor &&other) noexcept;
    ~LentDescriptor();

    int get() const noexcept { return lent_; }

    // The call succeeded: the driver owns the descriptor.
    void taken() noexcept { lent_ = -1; }

  private:
    LentDescriptor(int original, int lent) noexcept : original_(original), lent_(lent) {}

    int original_ = -1;
    int lent_ = -1;
};

} // namespace cushim::detail
