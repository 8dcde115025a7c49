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
inline bool may_be_the_name(CUresult status) noexcept {
    return status == CUDA_ERROR_NOT_FOUND || status == CUDA_ERROR_INVALID_VALUE;
}

// What is looked up.
struct Wanted {
    const char *code; // "module"
    const char *kind; // "kernel"
    const char *name; // null: nothing by name
};

inline Result<void> checked_name(CUresult status, const char *entry_point, int introduced,
                                 const Wanted &wanted) noexcept {
    if (may_be_the_name(status) && wanted.name != nullptr) {
        return explained(Error::status(Api::driver, status, entry_point),
                         "the %s has no %s named \"%.250s\"; C++ names must be mangled",
                         wanted.code, wanted.kind, wanted.name);
    }
    return checked(status, entry_point, introduced);
}

} // namespace cushim::detail

// Like CUSHIM_DRIVER, with what was not found.
#define CUSHIM_LOOKUP(wanted, function, ...)                                                       \
    ::cushim::detail::checked_name(::cushim::driver().function(__VA_ARGS__),                       \
                                   ::cushim::entry::function::name,                                \
                                   ::cushim::entry::function::introduced, wanted)
