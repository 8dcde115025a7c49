#include "access_grants.hpp"

#include <algorithm>
#include <cstdio>

#include "context/on_device.hpp"

namespace cushim::detail {

Error access_not_set(const Error &error, std::span<const AccessGrant> grants,
                     const AccessPart &part) noexcept {
    if (error.kind() == ErrorKind::requires_newer_driver) {
        return error;
    }
    char list[300] = "", where[80] = "";
    std::size_t length = 0;
    for (const AccessGrant &grant : grants) {
        const CUmemAccessDesc &native = grant.native();
        const bool is_device = native.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
        if (is_device && is_missing_device(error, native.location.id)) {
            return no_such_device(error, native.location.id);
        }
        const int written = std::snprintf(
            list + length, sizeof list - length, "%s%s for %s %d", length == 0 ? "" : ", ",
            to_text(static_cast<AccessFlags>(native.flags)).c_str(),
            is_device ? "device" : "host NUMA node", native.location.id);
        length = std::min(length + static_cast<std::size_t>(written), sizeof list - 1);
    }
    if (part.size != 0) {
        const std::size_t end = part.offset + part.size;
        if (error.status() == CUDA_ERROR_INVALID_VALUE) {
            return explained(error,
                             "range [%zu, %zu) is not completely mapped, or splits a mapping; map "
                             "it first, or use MappedRange::set_access()",
                             part.offset, end);
        }
        std::snprintf(where, sizeof where, " of range [%zu, %zu)", part.offset, end);
    }
    return explained(error, "access%s was not set: %s", where, list);
}

} // namespace cushim::detail
