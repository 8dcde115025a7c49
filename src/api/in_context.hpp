// The state of an object that lives in a context: keeps it alive, and enters it where a call needs it.
#pragma once

#include <cushim/context.hpp>

#include "state.hpp"

namespace cushim::detail {

struct InContext : State {
    explicit InContext(const Context &in) noexcept : need(in), context(in.native()) {}

    bool is_gone() const noexcept override { return need.is_gone(); }
    Result<ContextScope> enter() const noexcept { return ContextScope::enter(context); }

    const Need need;
    const CUcontext context;
};

// A destroy() that needs the object's context: as CUSHIM_DESTROY, or the failure to enter it.
template <class Destroy>
Destroyed destroy_in(CUcontext context, Destroy destroy) noexcept {
    const auto scope = ContextScope::enter(context);
    if (!scope) {
        return {scope.error().status(), scope.error().entry_point(),
                reinterpret_cast<unsigned long long>(context)};
    }
    return destroy();
}

// Refuses an empty owner, which to CUDA would be the default stream, the current context or worse.
template <class Value>
Result<void> need(const Owner<Value> &owner, const char *empty) noexcept {
    if (!owner) {
        return Error::invalid_argument(empty);
    }
    return {};
}

} // namespace cushim::detail
