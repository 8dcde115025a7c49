// Handle types for exporting memory and pools, by CUDA's numbers.
#pragma once

#include <cushim/driver_table.hpp>
#include <cushim/export_kinds.hpp>

#include "ranges.hpp"

namespace cushim::detail {

// Missing from older headers.
inline constexpr auto handle_type_fabric = static_cast<CUmemAllocationHandleType>(8);

constexpr CUmemAllocationHandleType native(const ExportKinds &kinds) noexcept {
    return static_cast<CUmemAllocationHandleType>(
        (kinds.posix_fd ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0) |
        (kinds.win32 ? CU_MEM_HANDLE_TYPE_WIN32 : 0) | (kinds.fabric ? handle_type_fabric : 0));
}

// `options`: the struct that has both members.
inline Result<void> check_win32_attributes(const ExportKinds &kinds, const void *attributes,
                                           const char *options) noexcept {
    if (kinds.win32 == (attributes != nullptr)) {
        return {};
    }
    return invalid_argument("%s::win32_attributes is %s, but exportable.win32 is%s; set both or "
                            "neither",
                            options, kinds.win32 ? "null" : "set", kinds.win32 ? "" : " not");
}

// A call that imports a handle of this type. CUDA does not say why it rejects one of a fabric.
inline Result<void> imported(Result<void> &&called, CUmemAllocationHandleType type) noexcept {
    if (called || type != handle_type_fabric) {
        return static_cast<Result<void> &&>(called);
    }
    switch (called.error().status()) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_NOT_PERMITTED:
        return explained(called.error(),
                         "CUDA rejected the fabric handle; it is invalid, the exported memory no "
                         "longer exists, or the nodes are not in one IMEX domain");
    default:
        return static_cast<Result<void> &&>(called);
    }
}

} // namespace cushim::detail
