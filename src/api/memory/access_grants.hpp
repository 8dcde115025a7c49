// Access grants in CUDA's form, and the failures of calls that take them.
#pragma once

#include <cushim/access.hpp>

#include <cstddef>
#include <span>

#include "base/call.hpp"
#include "context/requirements.hpp"

namespace cushim::detail {

// requires_newer_driver if a grant names a host NUMA node that the driver does not support.
inline Result<void> check(std::span<const AccessGrant> grants) noexcept {
    for (const AccessGrant &grant : grants) {
        if (grant.native().location.type != CU_MEM_LOCATION_TYPE_DEVICE) [[unlikely]] {
            return require_feature(Feature::host_numa_memory);
        }
    }
    return {};
}

// The grants as CUDA's array, which has the same layout.
inline Result<const CUmemAccessDesc *> native(std::span<const AccessGrant> grants) noexcept {
    static_assert(sizeof(AccessGrant) == sizeof(CUmemAccessDesc));
    CUSHIM_TRY_VOID(check(grants));
    return grants.empty() ? nullptr : &grants.front().native();
}

// Where a call sets access, in bytes; all of the memory if empty.
struct AccessPart {
    std::size_t offset = 0;
    std::size_t size = 0;
};

// The message says why, or which access was requested.
[[gnu::cold]] Error access_not_set(CUresult status, const char *entry_point, int introduced,
                                   std::span<const AccessGrant> grants,
                                   const AccessPart &part) noexcept;

// The result of a call that sets access.
inline Result<void> access_set(CUresult status, const char *entry_point, int introduced,
                               std::span<const AccessGrant> grants,
                               const AccessPart &part) noexcept {
    if (status == CUDA_SUCCESS) [[likely]] {
        return {};
    }
    return access_not_set(status, entry_point, introduced, grants, part);
}

} // namespace cushim::detail

// CUSHIM_DRIVER for a call that sets access; adds no name of a function.
#define CUSHIM_SET_ACCESS(grants, part, function, ...)                                             \
    ::cushim::detail::access_set(::cushim::driver().function(__VA_ARGS__),                         \
                                 ::cushim::entry::function::name,                                  \
                                 ::cushim::entry::function::introduced, grants, part)
