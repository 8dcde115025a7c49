/* One of the initialisations that NVML counts. */
#ifndef CUSHIM_DETAIL_NVML_USE_HPP
#define CUSHIM_DETAIL_NVML_USE_HPP

#include <cushim/result.hpp>

namespace cushim::detail {

// Moved, not copied; a moved-from object is empty.
class NvmlUse {
  public:
    NvmlUse() noexcept = default;
    NvmlUse(NvmlUse &&other) noexcept : holder_(other.holder_) { other.holder_ = 0; }
    NvmlUse &operator=(NvmlUse &&other) noexcept {
        if (this != &other) {
            const NvmlUse old(static_cast<NvmlUse &&>(*this));
            holder_ = other.holder_;
            other.holder_ = 0;
        }
        return *this;
    }
    ~NvmlUse() {
        if (holder_ != 0) {
            end();
        }
    }

    // nvmlInit_v2.
    CUSHIM_API static Result<NvmlUse> begin() noexcept;
    // nvmlShutdown; empty afterwards.
    CUSHIM_API Result<void> close() noexcept;

    explicit operator bool() const noexcept { return holder_ != 0; }

  private:
    CUSHIM_API void end() noexcept;

    unsigned int holder_ = 0; // the number of forks before its process, plus one; 0: empty
};

} // namespace cushim::detail

#endif
