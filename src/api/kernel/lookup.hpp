// Lookup by name: rejects an empty name; the message contains a name that was not found.
#pragma once

#include "base/call.hpp"

namespace cushim::detail {

inline Result<void> require_name(const char *name) noexcept {
    if (name == nullptr || *name == '\0') {
        return Error::invalid_argument("the name is empty");
    }
    return {};
}

// Whether the name may be wrong: cuLibraryGetUnifiedFunction then returns status 1.
inline bool may_be_the_name(CUresult status) noexcept {
    return status == CUDA_ERROR_NOT_FOUND || status == CUDA_ERROR_INVALID_VALUE;
}

inline Result<void> checked_name(CUresult status, const char *entry_point, int introduced,
                                 const char *name) noexcept {
    if (may_be_the_name(status)) {
        return Error::status(Api::driver, status, entry_point, name);
    }
    return checked(status, entry_point, introduced);
}

} // namespace cushim::detail

// Like CUSHIM_DRIVER, with the name.
#define CUSHIM_LOOKUP(name_, function, ...)                                                        \
    ::cushim::detail::checked_name(::cushim::driver().function(__VA_ARGS__),                       \
                                   ::cushim::entry::function::name,                                \
                                   ::cushim::entry::function::introduced, name_)
