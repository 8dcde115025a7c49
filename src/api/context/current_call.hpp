// A call with a context current, as with ContextScope, for calls that programs repeat: if the
// context is current already, this costs one driver call and a few instructions.
#pragma once

#include <cushim/context.hpp>

#include "base/call.hpp"

namespace cushim::detail {

// A context that is pushed for a scope. `asked` is the status of the cuCtxGetCurrent() that showed
// that the context is not current.
class PushedContext {
  public:
    PushedContext(CUcontext context, CUresult asked) noexcept;
    ~PushedContext();
    PushedContext(const PushedContext &) = delete;
    PushedContext &operator=(const PushedContext &) = delete;

    // invalid_argument if the context is empty; the failure of a call.
    const Result<void> &result() const noexcept { return result_; }

  private:
    unsigned int pushed_ = 0; // as in ContextScope
    Result<void> result_;
};

template <class Call>
[[gnu::cold, gnu::noinline]] Result<void> call_after_pushing(CUcontext context, CUresult asked,
                                                             const char *in, Call call) noexcept {
    const PushedContext pushed(context, asked);
    return pushed.result() ? call() : Result<void>(named(pushed.result().error(), in));
}

// The result of call() with the context current, or the failure to enter it. `in` is CUSHIM_HERE of
// the caller, or null if the caller adds the name. The shortest are calls that capture values.
template <class Call>
[[gnu::always_inline]] inline Result<void> call_in(CUcontext context, const char *in,
                                                   Call call) noexcept {
    CUcontext current = nullptr;
    CUresult asked = CUDA_SUCCESS;
    if (context != nullptr) [[likely]] {
        asked = driver().cuCtxGetCurrent(&current);
        if (current == context && asked == CUDA_SUCCESS) [[likely]] {
            return call();
        }
    }
    return call_after_pushing(context, asked, in, call);
}

} // namespace cushim::detail
