// Primary contexts that this process has reset: Context::reset_primary(). Their handles stay the
// same, and all objects created in them before the reset are destroyed.
#pragma once

#include <cuda.h>

#include <atomic>

namespace cushim::detail {

// Checked first, since few programs ever reset a context.
inline constinit std::atomic<bool> any_reset = false;

unsigned int count_resets(CUcontext context) noexcept;

// The number of resets of this context.
inline unsigned int resets_of(CUcontext context) noexcept {
    return any_reset.load(std::memory_order_acquire) ? count_resets(context) : 0;
}

/* Calls that cushim's own thread makes on objects that a reset may destroy meanwhile: drivers crash
 * in such calls. Never waits: while a context is being reset, it is not permitted(). */
class UncertainCalls {
  public:
    UncertainCalls() noexcept {
        callers_.fetch_add(1);
        permitted_ = resets_.load() == 0;
    }
    ~UncertainCalls() { callers_.fetch_sub(1); }
    UncertainCalls(const UncertainCalls &) = delete;
    UncertainCalls &operator=(const UncertainCalls &) = delete;

    bool permitted() const noexcept { return permitted_; }

  private:
    friend class ResetInProgress;
    static inline constinit std::atomic<unsigned int> callers_{0}, resets_{0};
    bool permitted_;
};

// Excludes such calls for a reset; waits for those that have begun.
class ResetInProgress {
  public:
    ResetInProgress() noexcept;
    ~ResetInProgress() { UncertainCalls::resets_.fetch_sub(1); }
    ResetInProgress(const ResetInProgress &) = delete;
    ResetInProgress &operator=(const ResetInProgress &) = delete;
};

// The primary context of the device, which had this handle, was reset.
void note_reset(CUdevice device, CUcontext context) noexcept;

} // namespace cushim::detail
