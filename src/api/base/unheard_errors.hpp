// Errors that no program receives: those of destructors, and of waits on cushim's own thread.
#pragma once

namespace cushim::detail {

// While such an object exists, errors get no name on this thread, and do not reach the error hook.
class UnheardErrors {
  public:
    UnheardErrors() noexcept : before_(exist_) { exist_ = true; }
    ~UnheardErrors() { exist_ = before_; }
    UnheardErrors(const UnheardErrors &) = delete;
    UnheardErrors &operator=(const UnheardErrors &) = delete;

    static bool exist() noexcept { return exist_; }

  private:
    static inline constinit thread_local bool exist_ = false;
    const bool before_;
};

} // namespace cushim::detail
