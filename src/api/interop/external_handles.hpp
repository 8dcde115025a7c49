// Handles of other APIs, checked before the driver sees them, and descriptors, handed to it such
// that it is always known who closes them.
#pragma once

#include <cushim/unique_fd.hpp>
#include <cushim/win32_handle.hpp>

#include "base/platform.hpp"

namespace cushim::detail {

// Whether there are such handles on this system, and this is one.
Result<void> check_win32(Win32Handle handle) noexcept;

/* A duplicate of a descriptor for a call that takes over what it is given where it succeeds. Where
 * it fails, drivers may have closed it or not (580 does the one or the other, by the reason of the
 * failure), and to close a number that is somebody else's by now would be fatal: so this looks
 * whether it still is the original's open file. The original must live longer. */
class LentDescriptor {
  public:
    LentDescriptor() noexcept = default;
    // Errors: those of UniqueFd::duplicate().
    static Result<LentDescriptor> of(const UniqueFd &original) noexcept;
    LentDescriptor(LentDescriptor &&other) noexcept;
    LentDescriptor &operator=(LentDescriptor &&other) noexcept;
    ~LentDescriptor();

    int get() const noexcept { return lent_; }

    // The call succeeded: the driver closes it, or has done so.
    void taken() noexcept { lent_ = -1; }

  private:
    LentDescriptor(int original, int lent) noexcept : original_(original), lent_(lent) {}

    int original_ = -1;
    int lent_ = -1;
};

} // namespace cushim::detail
