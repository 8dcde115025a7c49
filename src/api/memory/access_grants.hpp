// Access grants in CUDA's form.
#pragma once

#include <cushim/access.hpp>

#include <span>

#include "context/requirements.hpp"

namespace cushim::detail {

// requires_newer_driver if a grant names a host NUMA node that the driver does not support.
inline Result<void> check(std::span<const AccessGrant> grants) noexcept {
    for (const AccessGrant &grant : grants) {
        if (grant.native().location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
            CUSHIM_TRY_VOID(require_feature(Feature::host_numa_memory));
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

} // namespace cushim::detail
