// Lookup by name: rejects an empty name; the message contains a name that was not found.
#pragma once

#include "base/call.hpp"
#include "base/ranges.hpp"

namespace cushim::detail {

inline Result<void> require_name(const char *name) noexcept {
    if (name == nullptr) {
        return Error::invalid_argument("the name is null");
    }
    return *name != '\0' ? Result<void>() : Error::invalid_argument("the name is \"\"");
}

// Whether the name may be wrong: cuLibraryGetUnifiedFunction then returns status 1.
inline bool may_be_the_name(const Error &error) noexcept {
    return error.status() == CUDA_ERROR_NOT_FOUND || error.status() == CUDA_ERROR_INVALID_VALUE;
}

// What is looked up.
struct Wanted {
    const char *code; // "module"
    const char *kind; // "kernel"
    const char *name; // null: nothing by name
};

// The result of a lookup, with what was not found.
inline Result<void> looked_up(const Wanted &wanted, Result<void> &&called) noexcept {
    if (!called && may_be_the_name(called.error()) && wanted.name != nullptr) {
        return explained(called.error(),
                         "the %s has no %s named \"%.250s\"; C++ names must be mangled",
                         wanted.code, wanted.kind, wanted.name);
    }
    return static_cast<Result<void> &&>(called);
}

} // namespace cushim::detail
