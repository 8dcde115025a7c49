// Handle types for exporting memory and pools, by CUDA's numbers.
#pragma once

#include <cushim/driver_table.hpp>
#include <cushim/export_kinds.hpp>

namespace cushim::detail {

// Missing from older headers.
inline constexpr auto handle_type_fabric = static_cast<CUmemAllocationHandleType>(8);

constexpr CUmemAllocationHandleType native(const ExportKinds &kinds) noexcept {
    return static_cast<CUmemAllocationHandleType>(
        (kinds.posix_fd ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0) |
        (kinds.win32 ? CU_MEM_HANDLE_TYPE_WIN32 : 0) | (kinds.fabric ? handle_type_fabric : 0));
}

} // namespace cushim::detail
