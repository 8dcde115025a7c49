// Handles by which other processes import memory and pools: file descriptors, Windows handles and
// fabric handles.
#pragma once

#include <cushim/export_kinds.hpp>
#include <cushim/init.hpp>
#include <cushim/unique_fd.hpp>

#include <cstdint>

#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/platform/platform.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/requirements.hpp"

namespace cushim::detail {

// Missing from older headers.
inline constexpr auto handle_type_fabric = static_cast<CUmemAllocationHandleType>(8);

constexpr CUmemAllocationHandleType native(const ExportKinds &kinds) noexcept {
    return static_cast<CUmemAllocationHandleType>(
        (kinds.posix_fd ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0) |
        (kinds.win32 ? CU_MEM_HANDLE_TYPE_WIN32 : 0) | (kinds.fabric ? handle_type_fabric : 0));
}

// What the system or the driver lacks for these kinds. `options`: the struct that has the members.
inline Result<void> check_exports(const ExportKinds &kinds, const void *win32_attributes,
                                  const char *options) noexcept {
    if (kinds.posix_fd) {
        CUSHIM_TRY_VOID(require_descriptors());
    }
    if (kinds.win32) {
        CUSHIM_TRY_VOID(require_nt_handles());
    }
    if (kinds.win32 != (win32_attributes != nullptr)) {
        return invalid_argument("%s::win32_attributes is %s, but exportable.win32 is%s; set both "
                                "or neither",
                                options, kinds.win32 ? "null" : "set", kinds.win32 ? "" : " not");
    }
    return kinds.fabric ? require_feature(Feature::fabric_handles) : Result<void>();
}

// --- exports: `Entry` exports an object, which the program calls `name` ("pool") and creates with
// `options`

struct Exported {
    const char *empty, *name, *options;
};

// `kind`: the member of ExportKinds.
template <class Entry, class Object>
Result<void> export_handle(const Object &object, const Exported &as, CUmemAllocationHandleType type,
                           const char *kind, void *to) noexcept {
    CUSHIM_TRY_VOID(require(object, as.empty));
    return explained(call<Entry>(to, object.native(), type, 0), CUDA_ERROR_INVALID_VALUE,
                     "the %s was not created exportable; set %s::exportable.%s", as.name,
                     as.options, kind);
}
template <class Entry, class Object>
Result<UniqueFd> export_fd(const Object &object, const Exported &as) noexcept {
    CUSHIM_TRY_VOID(require_descriptors());
    int descriptor = -1;
    CUSHIM_TRY_VOID(export_handle<Entry>(object, as, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                         "posix_fd", &descriptor));
    return UniqueFd(descriptor);
}
template <class Entry, class Object>
Result<void *> export_win32(const Object &object, const Exported &as) noexcept {
    CUSHIM_TRY_VOID(require_nt_handles());
    void *handle = nullptr;
    CUSHIM_TRY_VOID(export_handle<Entry>(object, as, CU_MEM_HANDLE_TYPE_WIN32, "win32", &handle));
    return handle;
}
template <class Entry, class Object>
Result<FabricHandle> export_fabric(const Object &object, const Exported &as) noexcept {
    CUSHIM_TRY_VOID(require_feature(Feature::fabric_handles));
    FabricHandle handle;
    CUSHIM_TRY_VOID(export_handle<Entry>(object, as, handle_type_fabric, "fabric", handle.bytes));
    return handle;
}

// --- imports: the handle as CUDA takes it

// A descriptor: CUDA takes the number itself in place of a pointer.
inline Result<void *> importable(int descriptor) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(require_descriptors());
    CUSHIM_TRY_VOID(check_descriptor(descriptor));
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(descriptor));
}
// A Windows handle.
inline Result<void *> importable(void *handle) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(require_nt_handles());
    CUSHIM_TRY_VOID(require_handle(handle));
    return handle;
}
// A fabric handle, which must outlive the call.
inline Result<void *> importable(FabricHandle &handle) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(require_feature(Feature::fabric_handles));
    return static_cast<void *>(handle.bytes);
}

// A call that imports a handle of this type. CUDA does not say why it rejects one of a fabric.
inline Result<void> imported(Result<void> &&called, CUmemAllocationHandleType type) noexcept {
    if (!called && type == handle_type_fabric) {
        switch (called.error().status()) {
        case CUDA_ERROR_INVALID_VALUE:
        case CUDA_ERROR_INVALID_HANDLE:
        case CUDA_ERROR_NOT_PERMITTED:
            return explained(called.error(),
                             "CUDA rejected the fabric handle; it is invalid, the exported memory "
                             "no longer exists, or the nodes are not in one IMEX domain");
        default:
            break;
        }
    }
    return static_cast<Result<void> &&>(called);
}

} // namespace cushim::detail
