// Checks of adopt(): null would be the default stream or the current context.
#pragma once

#include <cushim/context.hpp>

#include "in_context.hpp"

namespace cushim::detail {

template <class Handle>
Result<void> require_handle(Handle handle, const char *null = "the handle is null") noexcept {
    if (handle == Handle{}) {
        return Error::invalid_argument(null);
    }
    return {};
}

// The same for memory and addresses, which have a size.
template <class Handle>
Result<void> require_handle_of(Handle handle, std::size_t size,
                               const char *null = "the handle is null") noexcept {
    CUSHIM_TRY_VOID(require_handle(handle, null));
    return size != 0 ? Result<void>() : Error::invalid_argument("the size is 0 bytes");
}

// The same for objects that belong to a context.
template <class Handle>
Result<void> require_handle_in(const Context &context, Handle handle) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context is empty"));
    return require_handle(handle);
}

} // namespace cushim::detail
