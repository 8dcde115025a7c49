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
[[gnu::cold]] Error access_not_set(const Error &error, std::span<const AccessGrant> grants,
                                   const AccessPart &part) noexcept;

// call() for an entry point that sets access.
template <class Entry, class... Arguments>
Result<void> access_call(std::span<const AccessGrant> grants, const AccessPart &part,
                         Arguments... arguments) noexcept {
    const Result<void> called = call<Entry>(arguments...);
    return called ? called : access_not_set(called.error(), grants, part);
}

} // namespace cushim::detail
